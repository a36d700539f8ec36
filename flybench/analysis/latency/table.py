"""A measurement as a table in milliseconds and as a figure, and numbers as text."""

from __future__ import annotations

import math

import pandas as pd

from flybench.analysis.latency.measure import Result
from flybench.report.plot import Axes, Draw, Theme, legend_below, log_scales, png
from flybench.text import NONE, number

MS = 1e3
PREFIXES = ("", "k", "M", "G", "T", "P")
COLUMNS = (
    *("model", "varied", "width", "context", "batch", "step_ms", "p10_ms", "p90_ms", "repeats"),
    *("steps", "bytes_floor_ms", "operations_floor_ms", "binds", "over_floor", "memory_bytes"),
    "note",
)


def frame(result: Result) -> pd.DataFrame:
    """Return one row for each point: times and floors in ms.

    `steps` is the time over the model's own base point; `over_floor` is the time over the higher
    floor, so 1 is as fast as the machine allows.
    """
    table = pd.DataFrame(result["points"])
    for name, seconds in {
        "step_ms": "median_s",
        "p10_ms": "p10_s",
        "p90_ms": "p90_s",
        "bytes_floor_ms": "bytes_floor_s",
        "operations_floor_ms": "operations_floor_s",
    }.items():
        table[name] = table[seconds].astype(float) * MS
    base = table[table["varied"] == "base"].set_index("model")["step_ms"]
    table["steps"] = table["step_ms"] / table["model"].map(base)
    floor = table[["bytes_floor_ms", "operations_floor_ms"]].max(axis=1, skipna=False)
    table["over_floor"] = table["step_ms"] / floor
    return table.reindex(columns=list(COLUMNS))


def spread(found: Result) -> str:
    """Format milliseconds as ``median (p10–p90)``."""
    return f"{brief(found['median_s'] * MS)} ({between(found['p10_s'] * MS, found['p90_s'] * MS)})"


def brief(value: float | None) -> str:
    """Format a value with three digits, or thousandths."""
    if value is None or not math.isfinite(value):
        return NONE
    return number(value, min(max(2 - math.floor(math.log10(abs(value) or 1e-9)), 0), 3))


def scaled(value: float | None, unit: str) -> str:
    """Format a value with three digits and a decimal prefix: ``15.7 GB/s``; None as a dash."""
    if value is None:
        return f"{NONE} {unit}"
    power = min(int(math.log10(max(value, 1)) // 3), len(PREFIXES) - 1)
    return f"{brief(value / 1000**power)} {PREFIXES[power]}{unit}".replace("  ", " ")


def between(low: float, high: float) -> str:
    ends = f"{brief(low)}–{brief(high)}"
    return NONE if NONE in ends else ends


HUES = {"target": "blue", "draft": "orange"}
MARKS = {"target": "o", "draft": "s"}
LABELS = {
    "width": "width (tokens per pass)",
    "context": "context (tokens in the cache)",
    "batch": "batch (texts)",
}
FLOORS = {"bytes": "--", "operations": ":"}


def figure(table: pd.DataFrame, title: str) -> bytes:
    """Return a PNG with one panel for each axis, from the table of `frame`."""
    # A floor far below the binding one is not informative.
    binding = table[[f"{kind}_floor_ms" for kind in FLOORS]].max(axis=1)
    lowest = pd.concat([table["step_ms"], binding]).min() / 3

    def panel(axis: str) -> Draw:
        shown = table[table["varied"].isin(("base", axis))]

        def draw(axes: Axes, theme: Theme) -> None:
            for role in dict.fromkeys(shown["model"]):
                rows = shown[shown["model"] == role].sort_values(axis)
                _lines(axes, rows, axis, theme, role)
            log_scales(axes, sorted(set(shown[axis])))
            axes.set(xlabel=LABELS[axis])
            if axis == "width":
                axes.set(ylabel="step (ms)", ylim=(None if pd.isna(lowest) else lowest, None))
                axes.set_title(title, loc="left", fontsize=9.5)
                legend_below(axes, columns=2)

        return draw

    return png([panel(axis) for axis in LABELS], 9.6, 4.2)


def _lines(axes: Axes, rows: pd.DataFrame, axis: str, theme: Theme, role: str) -> None:
    hue = theme[HUES[role]]
    measured = rows.dropna(subset=["step_ms"])
    where = measured[axis]
    axes.fill_between(
        where, measured["p10_ms"], measured["p90_ms"], color=hue, alpha=0.2, linewidth=0
    )
    label = f"{role}: median, p10 to p90 shaded"
    axes.plot(where, measured["step_ms"], color=hue, marker=MARKS[role], ms=4, label=label)
    for kind, style in FLOORS.items():
        floor = rows[f"{kind}_floor_ms"]
        label = f"{role}: floor by {kind}"
        axes.plot(rows[axis], floor, color=hue, linestyle=style, linewidth=1, label=label)
