"""The figure that answers the question: each method's speed-ups against the accuracy it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flybench.report.plot import Axes, Plot, Theme, legend_below, plot
from flybench.report.run import Arm, Run
from flybench.report.text import number, one_line, percent

MARKERS = "osD^vP*X"
HUES = ("blue", "orange", "red", "grey")
SPEEDUPS = {"speedup_throughput": "throughput", "speedup_latency": "time to answer"}


def speed_against_retention(runs: Sequence[Run]) -> list[Plot]:
    """One figure for each speed-up; none if no method was compared."""
    arms = [arm for run in runs for arm in run.compared if arm.row["speedup_throughput"]]
    margins = sorted({run.margin for run in runs})
    return [_figure(arms, margins, name) for name in SPEEDUPS if arms]


def _figure(arms: Sequence[Arm], margins: Sequence[float], name: str) -> Plot:
    known = [arm for arm in arms if arm.row["retention"] is not None]
    unknown = [arm for arm in arms if arm.row["retention"] is None]

    def draw(axes: Axes, theme: Theme) -> None:
        axes.axvline(1, color=theme["soft"], linewidth=1)
        if known:
            axes.axhline(100, color=theme["soft"], linewidth=1)
            for asked in (100 * (1 - margin) for margin in margins):
                style: dict[str, Any] = {"linewidth": 1, "linestyle": ":"}
                label = f"margin, {asked:g} %"
                axes.axhline(asked, color=theme["soft"], label=label, **style)
        axes.set(xlabel=f"speed-up in {SPEEDUPS[name]} (×)", ylabel="retention (%)")
        if not known:
            axes.set(yticks=[], ylabel="retention unknown")
        for index, arm in enumerate(arms):
            style = {
                "color": theme[HUES[index % len(HUES)]],
                "marker": MARKERS[index % len(MARKERS)],
                "label": one_line(arm.label),
            }
            if arm in known:
                _point(axes, arm, name, style)
            else:
                # A share of the height, since there is no retention to place it by.
                height = (1 + unknown.index(arm)) / (2 + max(len(unknown), 12 if known else 0))
                _open_point(axes, arm, name, height, style | {"mfc": theme["page"]})
        axes.margins(0.12)
        legend_below(axes)

    return plot(
        f"speed-{SPEEDUPS[name].split()[0]}",
        f"Retention against speed-up in {SPEEDUPS[name]}: "
        + "; ".join(_words(arm, name) for arm in arms),
        f"Speed-up in {SPEEDUPS[name]} against retention, with 95 % intervals; up and right is "
        "better." + (" Open marks have no retention." if unknown else ""),
        draw,
        height=3.2 + 0.19 * len(arms),
    )


def _point(axes: Axes, arm: Arm, name: str, style: dict[str, Any]) -> None:
    across, up = arm.row[name], 100 * arm.row["retention"]
    left, right = arm.row[f"{name}_ci"] or (across, across)
    low, high = arm.row["retention_ci"] or (arm.row["retention"],) * 2
    axes.plot((left, right), (up, up), color=style["color"], linewidth=1.2)
    axes.plot((across, across), (100 * low, 100 * high), color=style["color"], linewidth=1.2)
    axes.plot(across, up, linestyle="none", **style)


def _open_point(axes: Axes, arm: Arm, name: str, height: float, style: dict[str, Any]) -> None:
    ends = arm.row[f"{name}_ci"] or (arm.row[name],) * 2
    shares = axes.get_xaxis_transform()
    axes.plot(ends, (height, height), color=style["color"], transform=shares, linewidth=1.2)
    axes.plot(arm.row[name], height, linestyle="none", transform=shares, **style)


def _words(arm: Arm, name: str) -> str:
    return f"{arm.label} {number(arm.row[name])}×, {percent(arm.row['retention'])}"
