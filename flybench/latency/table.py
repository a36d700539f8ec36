"""A measurement as tables and sentences, in milliseconds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from flybench.report.text import NONE, number, percent

Result = dict[str, Any]
MS = 1e3
# A step and the same step while decoding may differ by this share before a reader is told.
DRIFT = 0.25
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


def text(result: Result) -> str:
    """Everything that was measured, for a terminal."""
    table = frame(result)
    base = result["base"]
    parts = [
        f"{result['model']} on {result['device']}, engine {result['engine']}, "
        f"{result['weights']} weights",
        f"Base point: width {base['width']}, context {base['context']}, batch {base['batch']}. "
        f"Times are {result['effort']}.",
    ]
    for role, facts in result["models"].items():
        name = facts["shape"] if result["weights"] == "random" else None
        rows = table[table["model"] == role]
        parts += ["", _heading(role, name or facts["path"], facts), _points(rows)]
    parts += [
        "",
        f"Parts of a round after a random prompt of {base['context']} tokens, ms: median (p10–p90)",
        _rounds(result["rounds"]),
        *_sentences(result),
    ]
    return "\n".join(parts)


def aligned(table: Sequence[Sequence[str]], left: int = 1) -> str:
    """Rows of text in columns, the first `left` of them flush left."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    )


def _heading(role: str, name: str, facts: Result) -> str:
    if facts["skip_layers"]:
        left_out = ", ".join(map(str, range(*facts["skip_layers"])))
        name += f" without its layers {left_out}"
    return (
        f"{role}: {name}, {facts['dtype']}; {scaled(facts['parameters'], ' parameters')}, "
        f"{scaled(facts['weight_bytes'], 'B')} of weights to read, "
        f"{scaled(facts['kv_bytes_per_token'], 'B')} of cache a token\n"
        f"{facts['device']}: reads {scaled(facts['read'], 'B/s')}, multiplies at "
        f"{scaled(facts['multiply'], 'FLOP/s')}"
    )


def _points(table: pd.DataFrame) -> str:
    head = ["varied", "width", "context", "batch", "step ms", "p10–p90", "× base"]
    head += ["bytes ms", "operations ms", "binds", "× floor", ""]
    rows = [
        [
            row["varied"],
            *(str(row[name]) for name in ("width", "context", "batch")),
            brief(row["step_ms"]),
            _range(row["p10_ms"], row["p90_ms"]),
            number(row["steps"]),
            brief(row["bytes_floor_ms"]),
            brief(row["operations_floor_ms"]),
            row["binds"],
            number(row["over_floor"]),
            row["note"],
        ]
        for row in table.fillna({"note": "", "binds": NONE}).to_dict("records")
    ]
    return aligned([head, *rows])


def _rounds(rounds: Result) -> str:
    parts = ("draft", "verify", "other")
    rows = [[name, *(spread(found[part]) for part in parts)] for name, found in rounds.items()]
    return aligned([["", *parts], *rows])


def _sentences(result: Result) -> Iterator[str]:
    k = result["method"]["k"]
    steps = {row["model"]: row for row in result["points"] if row["varied"] == "base"}
    if result["draft"] is not None:
        each = steps["draft"]["median_s"]
        share = number(result["draft"]["median_s"] / (k * each)) if each else NONE
        yield (
            f"A draft of {k} tokens in one go takes {spread(result['draft'])} ms, {share} of {k} "
            "steps of the draft model."
        )
    if result["verdicts"] is not None:
        step = steps["target"]["median_s"]
        told = (
            f"{kind} {spread(found)} ms"
            + (f", {percent(found['median_s'] / step)} of a step" if step else "")
            for kind, found in result["verdicts"].items()
        )
        yield f"The verdict alone on {k} drafted tokens: {'; '.join(told)}."
    yield _memory(result, steps)
    yield from _drift(steps["target"]["median_s"], result["rounds"]["ar"]["verify"]["median_s"])


def _drift(step: float | None, decoding: float) -> Iterator[str]:
    """A warning where decoding, timed last, contradicts the base point, which was timed first."""
    if step and abs(decoding / step - 1) > DRIFT:
        yield (
            f"The target's step took {brief(step * MS)} ms at the base point and "
            f"{brief(decoding * MS)} ms with its verdict while decoding: if the machine was busy "
            "with other work, measure again."
        )


def _memory(result: Result, steps: Result) -> str:
    told = []
    for role, facts in result["models"].items():
        peak = steps[role]["memory_bytes"]
        at_most = f" ({scaled(peak, 'B')} at the base point)" if peak else ""
        told.append(f"{role} {scaled(facts['resident_bytes'], 'B')}{at_most}")
    what = "decoding" if result["device_type"] == "cuda" else "the process, so far,"
    whole = scaled(result["peak_memory_bytes"], "B")
    return f"Memory: {', '.join(told)}; {what} took {whole} at its peak."


def spread(found: Result) -> str:
    """Milliseconds as ``median (p10–p90)``."""
    return f"{brief(found['median_s'] * MS)} ({_range(found['p10_s'] * MS, found['p90_s'] * MS)})"


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


def _range(low: float, high: float) -> str:
    ends = f"{brief(low)}–{brief(high)}"
    return NONE if NONE in ends else ends
