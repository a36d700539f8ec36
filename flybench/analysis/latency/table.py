"""A measurement as a table in milliseconds, and numbers as text."""

from __future__ import annotations

import math

import pandas as pd

from flybench.analysis.latency.measure import Result
from flybench.text import NONE, number

MS = 1e3
PREFIXES = ("", "k", "M", "G", "T", "P")
COLUMNS = (
    *("model", "varied", "width", "context", "batch", "step_ms", "p10_ms", "p90_ms", "repeats"),
    *("steps", "bytes_floor_ms", "operations_floor_ms", "binds", "over_floor", "memory_bytes"),
    "note",
)


def frame(result: Result) -> pd.DataFrame:
    """One row a point: times and floors in ms.

    `steps` is the time over the model's own base point; `over_floor` is the time over the higher
    floor, 1 being as fast as the machine allows.
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
    """Milliseconds as ``median (p10–p90)``."""
    return f"{brief(found['median_s'] * MS)} ({between(found['p10_s'] * MS, found['p90_s'] * MS)})"


def brief(value: float | None) -> str:
    """Three figures, or thousandths."""
    if value is None or not math.isfinite(value):
        return NONE
    return number(value, min(max(2 - math.floor(math.log10(abs(value) or 1e-9)), 0), 3))


def scaled(value: float | None, unit: str) -> str:
    """Three figures and a decimal prefix: ``15.7 GB/s``; without one for the figure, a dash."""
    if value is None:
        return f"{NONE} {unit}"
    power = min(int(math.log10(max(value, 1)) // 3), len(PREFIXES) - 1)
    return f"{brief(value / 1000**power)} {PREFIXES[power]}{unit}".replace("  ", " ")


def between(low: float, high: float) -> str:
    ends = f"{brief(low)}–{brief(high)}"
    return NONE if NONE in ends else ends
