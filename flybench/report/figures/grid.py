"""Heat maps of sweeps whose runs form a grid of settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from flybench.report.group import Group
from flybench.report.method_names import SYMBOLS, settings_of
from flybench.report.plot import Axes, Draw, Plot, Theme, panels
from flybench.report.run import Arm
from flybench.text import number

AXES = ("verify.theta", "verify.window", "k")
FIGURES = {
    "speedup_latency": ("speed-up in time to answer (×)", 1, 2),
    "retention": ("retention (%)", 100, 1),
    "loose_per_1000": ("loose tokens per 1000", 1, 1),
}
Point = tuple[float, ...]


class Grid(NamedTuple):
    """One method's arms by their values of the settings in `axes`."""

    method: str
    axes: tuple[str, ...]
    arms: dict[Point, Arm]


def grids(group: Group) -> list[Plot]:
    """Draw two maps for each method whose runs vary two of θ, W and K, per value of the third."""
    plots: list[Plot] = []
    for sweep in sweeps(group):
        for rest, arms in _layers(sweep):
            number_ = f"{group.key}-{len(plots) + 1}"
            plots.append(_map(f"grid-{number_}", group, sweep, rest, arms))
    return plots


def sweeps(group: Group) -> Iterator[Grid]:
    """Yield the methods whose runs vary at least two settings, with at least two values each."""
    pairs = sorted(group.pairs, key=lambda pair: pair[1].method)
    for method, runs in groupby(pairs, key=lambda pair: pair[1].method):
        points = {arm: _axes(settings_of(run.provenance, method)) for run, arm in runs}
        columns = zip(*points.values(), strict=True)
        varied = [index for index, values in enumerate(columns) if _varies(values)]
        if len(varied) >= 2:
            arms = {tuple(float(point[i]) for i in varied): arm for arm, point in points.items()}
            yield Grid(method, tuple(AXES[i] for i in varied), arms)


def _axes(settings: Mapping[str, Any]) -> list[Any]:
    return [settings.get(axis) for axis in AXES]


def _varies(values: Sequence[float | None]) -> bool:
    return None not in values and len(set(values)) > 1


def _layers(sweep: Grid) -> Iterator[tuple[Point, dict[Point, Arm]]]:
    """Yield the arms by the first two axes for each value of the third axis, if any."""
    for rest in sorted({point[2:] for point in sweep.arms}):
        yield rest, {point[:2]: arm for point, arm in sweep.arms.items() if point[2:] == rest}


def _map(name: str, group: Group, sweep: Grid, rest: Point, arms: dict[Point, Arm]) -> Plot:
    where = "".join(f", {_symbol(sweep.axes[2])}={value:g}" for value in rest)
    retained = any(arm.row.retention is not None for arm in arms.values())
    names = ("speedup_latency", "retention" if retained else "loose_per_1000")
    fastest = max(arms, key=lambda point: arms[point].row.speedup_latency or 0)
    at = ", ".join(f"{_symbol(a)}={v:g}" for a, v in zip(sweep.axes, fastest, strict=False))
    best = number(arms[fastest].row.speedup_latency)
    finding = f"{sweep.method} answers fastest at {at}{where}: {best}×."
    listed = "; ".join(
        f"{arm.name} " + ", ".join(_text(arm, name) for name in names) for arm in arms.values()
    )
    rows = len({point[0] for point in arms})
    return panels(
        name,
        f"{finding} {' and '.join(FIGURES[one][0] for one in names)}: {listed}.",
        f"{finding} {group.title}{where}; empty cells were not run.",
        [_panel(sweep.axes, arms, one) for one in names],
        width=8.4,
        height=1.5 + 0.42 * rows,
    )


def _panel(axes_: Sequence[str], arms: dict[Point, Arm], name: str) -> Draw:
    ys, xs = (sorted({point[i] for point in arms}) for i in (0, 1))
    values = np.full((len(ys), len(xs)), np.nan)
    for (y, x), arm in arms.items():
        values[ys.index(y), xs.index(x)] = arm.row[name] or np.nan

    middle = (np.nanmin(values) + np.nanmax(values)) / 2

    def draw(axes: Axes, theme: Theme) -> None:
        # Vector cells instead of an embedded image.
        axes.pcolormesh(np.ma.masked_invalid(values), cmap="cividis", edgecolors="none")
        for (y, x), arm in arms.items():
            row, column = ys.index(y), xs.index(x)
            dark = values[row, column] < middle
            ink = "#fdfdfd" if dark else "#111111"
            label = axes.text(column + 0.5, row + 0.5, _text(arm, name), color=ink, fontsize=8.5)
            label.set(ha="center", va="center")
        axes.set_xticks(np.arange(len(xs)) + 0.5, [f"{value:g}" for value in xs])
        axes.set_yticks(np.arange(len(ys)) + 0.5, [f"{value:g}" for value in ys])
        axes.set(xlabel=_symbol(axes_[1]), title=FIGURES[name][0])
        axes.set_ylabel(_symbol(axes_[0]))
        axes.grid(False)

    return draw


def _text(arm: Arm, name: str) -> str:
    _, scale, digits = FIGURES[name]
    return number(arm.row[name], digits, scale)


def _symbol(axis: str) -> str:
    return SYMBOLS[axis.split(".")[-1]]
