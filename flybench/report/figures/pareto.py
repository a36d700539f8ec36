"""Pareto figure: each method's speed-up in time to answer against its retention of accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flybench.report.figures.series import Styles
from flybench.report.group import Group
from flybench.report.plot import Axes, Plot, Theme, legend_below, plot
from flybench.report.run import Arm
from flybench.text import number, percent

SPEEDUP = "speedup_latency"
Point = tuple[float, float]


def pareto(group: Group, styles: Styles) -> Plot | None:
    """Plot speed-up against retention, with the Pareto front; None without a speed-up."""
    arms = [arm for arm in group.compared if arm.row[SPEEDUP]]
    if not arms:
        return None
    known = [arm for arm in arms if arm.row.retention is not None]
    unknown = [arm for arm in arms if arm not in known]
    margins = sorted({run.margin for run in group.runs})
    best = front([_coordinates(arm) for arm in known])

    def draw(axes: Axes, theme: Theme) -> None:
        axes.axvline(1, color=theme["soft"], linewidth=1)
        axes.set(xlabel="speed-up in time to answer (×)", ylabel="retention (%)")
        if known:
            _lines(axes, theme, margins, best)
        else:
            axes.set(yticks=[], ylabel="retention unknown")
        for arm in known:
            _point(axes, arm, styles[arm].mark(theme))
        for index, arm in enumerate(unknown, start=1):
            # In axes coordinates, because the retention is unknown.
            height = index / (1 + max(len(unknown), 12 if known else 0))
            _open_point(axes, arm, height, styles[arm].mark(theme) | {"mfc": theme["page"]})
        axes.margins(0.12)
        legend_below(axes, columns=2)

    listed = "; ".join(f"{arm.name} {_text(arm)}" for arm in arms)
    return plot(
        f"pareto-{group.key}",
        f"{_finding(arms, known)} Retention against speed-up on {group.title}: {listed}.",
        f"{_finding(arms, known)} {group.title}, with 95\u00a0% intervals; top right is best."
        + (" The stepped line is the Pareto front." if known else "")
        + (" Open markers: retention unknown." if unknown else ""),
        draw,
        width=5.4,
        height=3.4 + 0.1 * len(arms),
    )


def front(points: Sequence[Point]) -> list[Point]:
    """Return the Pareto front of the points and AR's (1, 100), from left to right."""
    best: list[Point] = []
    for x, y in sorted({(1.0, 100.0), *points}, reverse=True):
        if not best or y > best[-1][1]:
            best.append((x, y))
    return best[::-1]


def _lines(axes: Axes, theme: Theme, margins: Sequence[float], best: Sequence[Point]) -> None:
    axes.axhline(100, color=theme["soft"], linewidth=1)
    for bar in (100 * (1 - margin) for margin in margins):
        style: dict[str, Any] = {"linewidth": 1, "linestyle": ":", "label": f"margin, {bar:g} %"}
        axes.axhline(bar, color=theme["soft"], **style)
    axes.plot(1, 100, marker="o", color=theme["ink"], linestyle="none", markersize=5, label="AR")
    xs, ys = zip(*best, strict=True)
    # With "pre", each step drops right after a point of the front.
    style = {"linewidth": 1.2, "alpha": 0.5, "zorder": 1}
    axes.step(xs, ys, where="pre", color=theme["ink"], **style)


def _coordinates(arm: Arm) -> Point:
    return arm.row[SPEEDUP], 100 * arm.row.given("retention")


def _point(axes: Axes, arm: Arm, style: dict[str, Any]) -> None:
    x, y = _coordinates(arm)
    low, high = arm.row.retention_ci or (y / 100,) * 2
    left, right = arm.row[f"{SPEEDUP}_ci"] or (x, x)
    axes.plot((left, right), (y, y), color=style["color"], linewidth=1.2)
    axes.plot((x, x), (100 * low, 100 * high), color=style["color"], linewidth=1.2)
    axes.plot(x, y, linestyle="none", **style)


def _open_point(axes: Axes, arm: Arm, height: float, style: dict[str, Any]) -> None:
    ends = arm.row[f"{SPEEDUP}_ci"] or (arm.row[SPEEDUP],) * 2
    shares = axes.get_xaxis_transform()
    axes.plot(ends, (height, height), color=style["color"], transform=shares, linewidth=1.2)
    axes.plot(arm.row[SPEEDUP], height, linestyle="none", transform=shares, **style)


def _finding(arms: Sequence[Arm], known: Sequence[Arm]) -> str:
    fastest = max(arms, key=lambda arm: arm.row[SPEEDUP])
    text = f"{fastest.name} answers fastest, {number(fastest.row[SPEEDUP])}× AR's speed"
    if fastest not in known:
        return f"{text}; its retention is unknown."
    return f"{text}, with {percent(fastest.row.retention)} retention."


def _text(arm: Arm) -> str:
    return f"{number(arm.row[SPEEDUP])}×, {percent(arm.row.retention)}"
