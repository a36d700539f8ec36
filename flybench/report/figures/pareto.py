"""The figure that answers the question: each method's speed-up against the accuracy it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flybench.report.figures.series import Looks
from flybench.report.group import Group
from flybench.report.plot import Axes, Plot, Theme, legend_below, plot
from flybench.report.run import Arm
from flybench.text import number, percent

SPEEDUP = "speedup_latency"
Point = tuple[float, float]


def pareto(group: Group, looks: Looks) -> Plot | None:
    """Speed-up in time to answer against retention, with the front; None without a speed-up."""
    arms = [arm for arm in group.compared if arm.row[SPEEDUP]]
    if not arms:
        return None
    known = [arm for arm in arms if arm.row.retention is not None]
    unknown = [arm for arm in arms if arm not in known]
    margins = sorted({run.margin for run in group.runs})
    best = front([_place(arm) for arm in known])

    def draw(axes: Axes, theme: Theme) -> None:
        axes.axvline(1, color=theme["soft"], linewidth=1)
        axes.set(xlabel="speed-up in time to answer (×)", ylabel="retention (%)")
        if known:
            _lines(axes, theme, margins, best)
        else:
            axes.set(yticks=[], ylabel="retention unknown")
        for arm in known:
            _point(axes, arm, looks[arm].mark(theme))
        for place, arm in enumerate(unknown, start=1):
            # A share of the height, since there is no retention to place it by.
            height = place / (1 + max(len(unknown), 12 if known else 0))
            _open_point(axes, arm, height, looks[arm].mark(theme) | {"mfc": theme["page"]})
        axes.margins(0.12)
        legend_below(axes, columns=2)

    listed = "; ".join(f"{arm.name} {_words(arm)}" for arm in arms)
    return plot(
        f"pareto-{group.key}",
        f"{_finding(arms, known)} Retention against speed-up on {group.title}: {listed}.",
        f"{_finding(arms, known)} {group.title}, with 95\u00a0% intervals; up and right is better."
        + (" The stepped line is the front: no method is beyond it." if known else "")
        + (" Open marks have no retention." if unknown else ""),
        draw,
        width=5.4,
        height=3.4 + 0.1 * len(arms),
    )


def front(points: Sequence[Point]) -> list[Point]:
    """The points, and AR's own (1, 100), that no other beats in both, from left to right."""
    found: list[Point] = []
    for across, up in sorted({(1.0, 100.0), *points}, reverse=True):
        if not found or up > found[-1][1]:
            found.append((across, up))
    return found[::-1]


def _lines(axes: Axes, theme: Theme, margins: Sequence[float], best: Sequence[Point]) -> None:
    axes.axhline(100, color=theme["soft"], linewidth=1)
    for asked in (100 * (1 - margin) for margin in margins):
        style: dict[str, Any] = {"linewidth": 1, "linestyle": ":", "label": f"margin, {asked:g} %"}
        axes.axhline(asked, color=theme["soft"], **style)
    axes.plot(1, 100, marker="o", color=theme["ink"], linestyle="none", markersize=5, label="AR")
    across, up = zip(*best, strict=True)
    # Right to left, so that each step falls only where a faster method begins.
    style = {"linewidth": 1.2, "alpha": 0.5, "zorder": 1}
    axes.step(across, up, where="pre", color=theme["ink"], **style)


def _place(arm: Arm) -> Point:
    return arm.row[SPEEDUP], 100 * arm.row.given("retention")


def _point(axes: Axes, arm: Arm, style: dict[str, Any]) -> None:
    across, up = _place(arm)
    low, high = arm.row.retention_ci or (up / 100,) * 2
    left, right = arm.row[f"{SPEEDUP}_ci"] or (across, across)
    axes.plot((left, right), (up, up), color=style["color"], linewidth=1.2)
    axes.plot((across, across), (100 * low, 100 * high), color=style["color"], linewidth=1.2)
    axes.plot(across, up, linestyle="none", **style)


def _open_point(axes: Axes, arm: Arm, height: float, style: dict[str, Any]) -> None:
    ends = arm.row[f"{SPEEDUP}_ci"] or (arm.row[SPEEDUP],) * 2
    shares = axes.get_xaxis_transform()
    axes.plot(ends, (height, height), color=style["color"], transform=shares, linewidth=1.2)
    axes.plot(arm.row[SPEEDUP], height, linestyle="none", transform=shares, **style)


def _finding(arms: Sequence[Arm], known: Sequence[Arm]) -> str:
    fastest = max(arms, key=lambda arm: arm.row[SPEEDUP])
    text = f"{fastest.name} answers fastest, {number(fastest.row[SPEEDUP])}× AR"
    if fastest not in known:
        return f"{text}; its retention is unknown."
    return f"{text}, at a retention of {percent(fastest.row.retention)}."


def _words(arm: Arm) -> str:
    return f"{number(arm.row[SPEEDUP])}×, {percent(arm.row.retention)}"
