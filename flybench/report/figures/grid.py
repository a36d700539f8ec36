"""Heat maps of a sweep: what each pair of settings gives, where runs form a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from flybench.report.group import Group
from flybench.report.names import SYMBOLS, settings_of
from flybench.report.plot import Axes, Draw, Plot, Theme, panels
from flybench.report.run import Arm
from flybench.text import number

AXES = ("verify.theta", "verify.window", "k")
FIGURES = {
    "speedup_latency": ("speed-up to answer (×)", 1, 2),
    "retention": ("retention (%)", 100, 1),
    "loose_per_1000": ("loose tokens per 1000", 1, 1),
}
Place = tuple[float, ...]


class Grid(NamedTuple):
    """One method's arms by their place in a grid; `axes` are the settings that vary."""

    method: str
    axes: tuple[str, ...]
    arms: dict[Place, Arm]


def grids(group: Group) -> list[Plot]:
    """Two maps a method whose runs vary two of θ, W and K, for each value of the third."""
    plots: list[Plot] = []
    for sweep in sweeps(group):
        for rest, arms in _layers(sweep):
            number_ = f"{group.key}-{len(plots) + 1}"
            plots.append(_map(f"grid-{number_}", group, sweep, rest, arms))
    return plots


def sweeps(group: Group) -> Iterator[Grid]:
    """The methods whose runs vary two settings at least, in two values each."""
    pairs = sorted(group.pairs, key=lambda pair: pair[1].method)
    for method, alike in groupby(pairs, key=lambda pair: pair[1].method):
        found = {arm: _axes(settings_of(run.provenance, method)) for run, arm in alike}
        columns = zip(*found.values(), strict=True)
        varied = [place for place, values in enumerate(columns) if _varies(values)]
        if len(varied) >= 2:
            arms = {tuple(float(place[i]) for i in varied): arm for arm, place in found.items()}
            yield Grid(method, tuple(AXES[i] for i in varied), arms)


def _axes(settings: Mapping[str, Any]) -> list[Any]:
    return [settings.get(axis) for axis in AXES]


def _varies(values: Sequence[float | None]) -> bool:
    return None not in values and len(set(values)) > 1


def _layers(sweep: Grid) -> Iterator[tuple[Place, dict[Place, Arm]]]:
    """Cells of the first two axes for each value of the third, if there is one."""
    for rest in sorted({place[2:] for place in sweep.arms}):
        yield rest, {place[:2]: arm for place, arm in sweep.arms.items() if place[2:] == rest}


def _map(name: str, group: Group, sweep: Grid, rest: Place, arms: dict[Place, Arm]) -> Plot:
    where = "".join(f", {_symbol(sweep.axes[2])}={value:g}" for value in rest)
    known = any(arm.row.retention is not None for arm in arms.values())
    names = ("speedup_latency", "retention" if known else "loose_per_1000")
    fastest = max(arms, key=lambda place: arms[place].row.speedup_latency or 0)
    at = ", ".join(f"{_symbol(a)}={v:g}" for a, v in zip(sweep.axes, fastest, strict=False))
    best = number(arms[fastest].row.speedup_latency)
    finding = f"{sweep.method} answers fastest at {at}{where}: {best}×."
    listed = "; ".join(
        f"{arm.name} " + ", ".join(_text(arm, name) for name in names) for arm in arms.values()
    )
    rows = len({place[0] for place in arms})
    return panels(
        name,
        f"{finding} {' and '.join(FIGURES[one][0] for one in names)}: {listed}.",
        f"{finding} {group.title}{where}; empty cells were not run.",
        [_panel(sweep.axes, arms, one) for one in names],
        width=8.4,
        height=1.5 + 0.42 * rows,
    )


def _panel(axes_: Sequence[str], arms: dict[Place, Arm], name: str) -> Draw:
    ups, acrosses = (sorted({place[i] for place in arms}) for i in (0, 1))
    values = np.full((len(ups), len(acrosses)), np.nan)
    for (up, across), arm in arms.items():
        values[ups.index(up), acrosses.index(across)] = arm.row[name] or np.nan

    middle = (np.nanmin(values) + np.nanmax(values)) / 2

    def draw(axes: Axes, theme: Theme) -> None:
        # Cells, not an image, so that the drawing stays one of lines and colours alone.
        axes.pcolormesh(np.ma.masked_invalid(values), cmap="cividis", edgecolors="none")
        for (up, across), arm in arms.items():
            row, column = ups.index(up), acrosses.index(across)
            dark = values[row, column] < middle
            ink = "#fdfdfd" if dark else "#111111"
            label = axes.text(column + 0.5, row + 0.5, _text(arm, name), color=ink, fontsize=8.5)
            label.set(ha="center", va="center")
        axes.set_xticks(np.arange(len(acrosses)) + 0.5, [f"{value:g}" for value in acrosses])
        axes.set_yticks(np.arange(len(ups)) + 0.5, [f"{value:g}" for value in ups])
        axes.set(xlabel=_symbol(axes_[1]), title=FIGURES[name][0])
        axes.set_ylabel(_symbol(axes_[0]))
        axes.grid(False)

    return draw


def _text(arm: Arm, name: str) -> str:
    _, scale, digits = FIGURES[name]
    return number(arm.row[name], digits, scale)


def _symbol(axis: str) -> str:
    return SYMBOLS[axis.split(".")[-1]]
