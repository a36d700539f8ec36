"""Text of a measurement, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from flybench.analysis.latency.measure import Result
from flybench.analysis.latency.table import MS, between, brief, frame, scaled, spread
from flybench.text import NONE, aligned, number, percent

# Relative difference of a step and the same step while decoding that triggers a warning.
DRIFT = 0.25


def text(result: Result) -> str:
    """Return the whole measurement as text."""
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


def _heading(role: str, name: str, facts: Result) -> str:
    if facts["skip_layers"]:
        left_out = ", ".join(map(str, range(*facts["skip_layers"])))
        name += f" without its layers {left_out}"
    if facts["ranks"] > 1:
        name += f", the part of one rank of {facts['ranks']}"
    return (
        f"{role}: {name}, {facts['dtype']}; {scaled(facts['parameters'], ' parameters')}, "
        f"{scaled(facts['weight_bytes'], 'B')} of weights to read, "
        f"{scaled(facts['kv_bytes_per_token'], 'B')} of cache per token\n"
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
            between(row["p10_ms"], row["p90_ms"]),
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
        parts = (
            f"{kind} {spread(found)} ms"
            + (f", {percent(found['median_s'] / step)} of a step" if step else "")
            for kind, found in result["verdicts"].items()
        )
        yield f"The verdict on {k} draft tokens: {'; '.join(parts)}."
    yield _memory(result, steps)
    yield from _drift(steps["target"]["median_s"], result["rounds"]["ar"]["verify"]["median_s"])


def _drift(step: float | None, decoding: float) -> Iterator[str]:
    """Yield a warning if decoding, timed last, contradicts the base point, timed first."""
    if step and abs(decoding / step - 1) > DRIFT:
        yield (
            f"The target's step took {brief(step * MS)} ms at the base point and "
            f"{brief(decoding * MS)} ms with its verdict while decoding: if the machine was busy "
            "with other work, measure again."
        )


def _memory(result: Result, steps: Result) -> str:
    parts = []
    for role, facts in result["models"].items():
        peak = steps[role]["memory_bytes"]
        at_most = f" ({scaled(peak, 'B')} at the base point)" if peak else ""
        parts.append(f"{role} {scaled(facts['resident_bytes'], 'B')}{at_most}")
    what = "decoding" if result["device_type"] == "cuda" else "the process, so far,"
    whole = scaled(result["peak_memory_bytes"], "B")
    return f"Memory: {', '.join(parts)}; {what} took {whole} at its peak."
