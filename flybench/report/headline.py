"""The table that `flybench run` prints: one line a method, intervals in brackets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]

COLUMNS = {
    "model": "model",
    "task": "task",
    "method": "method",
    "n": "n",
    "accuracy": "accuracy",
    "retention": "retention",
    "both/lost/won/neither": "pairs",
    "verdict": "retention_verdict",
    "speed-up (tokens/s)": "speedup_throughput",
    "speed-up (to answer)": "speedup_latency",
    "tokens/s": "tokens_per_second",
    "tau": "tau_pooled",
    "loose/1000": "loose_per_1000",
    "length": "length_ratio",
}


def headline(rows: Sequence[Row]) -> str:
    """Rows of a summary as aligned text; `—` where there is nothing to say."""
    table = [list(COLUMNS), *([_cell(row, name) for name in COLUMNS.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    )


def _cell(row: Row, name: str) -> str:
    value, interval = row.get(name), row.get(f"{name}_ci")
    if value is None:
        return "—"
    if name == "n" and row["n_scored"] != value:
        return f"{value} ({row['n_scored']} scored)"
    if name == "pairs":
        return "/".join(map(str, value))
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    if name == "accuracy":
        text = f"{row['n_right']:.4g}/{row['n_scored']} = {text}"
    return f"{text} [{interval[0]:.3g}, {interval[1]:.3g}]" if interval else text
