"""A record as one row: what was asked (its hash), what came back, and what was thought of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from datasets import Features, Value

from flybench.core.samples import Generation, Record, Score
from flybench.records.folder import RunFolder
from flybench.report.run import CachedFolder

INT, REAL, TEXT, TRUTH = Value("int64"), Value("float64"), Value("string"), Value("bool")
ROUND = {
    **dict.fromkeys(("drafted", "accepted", "loose", "emitted"), INT),
    "fates": TEXT,
    **dict.fromkeys(("draft_s", "verify_s", "other_s"), REAL),
}
LOOSENED = {
    **dict.fromkeys(("place", "start", "preferred", "rank"), INT),
    **dict.fromkeys(("text", "preferred_text", "kind"), TEXT),
    "copied": TRUTH,
    **dict.fromkeys(("probability", "max_probability", "entropy"), REAL),
}
TURN = {
    "prompt_tokens": INT,
    "ids": [INT],
    "text": TEXT,
    "finish": TEXT,
    "margins": [REAL],
    **dict.fromkeys(("prefill_s", "first_token_s", "total_s"), REAL),
    "rounds": [ROUND],
    "loosened": [LOOSENED],
}
# The columns, one row a sample and method. Fates are letters: e exact, l loose, s sampled; rejected
# g gate, w window, t tail, r other; . not visited. `correct` is null where nothing judged.
FEATURES = Features(
    {
        **dict.fromkeys(("run", "model", "task", "method", "device", "engine"), TEXT),
        **dict.fromkeys(("sample_id", "category", "prompt_sha256"), TEXT),
        "seed": INT,
        "position": INT,
        "correct": REAL,
        "graded": TRUTH,
        "metrics": [{"name": TEXT, "value": REAL}],
        **dict.fromkeys(("extracted", "reason", "error"), TEXT),
        "peak_memory_bytes": INT,
        "energy_j": REAL,
        "throttled": TRUTH,
        "turns": [TURN],
    }
)


def rows(folder: RunFolder) -> Iterator[dict[str, Any]]:
    """Every record of a run, in order of samples and methods."""
    run = CachedFolder(folder.path)
    known, scores = run.provenance(), run.scores()
    told = {name: known[name] for name in ("model", "task", "device", "engine")}
    about = {"run": folder.path.resolve().name, "seed": known.get("seed"), **told}
    for key, record in sorted(run.records().items()):
        yield clean({**about, **_row(record, scores.get(key))})


def _row(record: Record, score: Score | None) -> dict[str, Any]:
    cards = record.telemetry
    metrics = score.metrics if score else {}
    return {
        "method": record.method,
        "sample_id": record.sample_id,
        "category": record.category,
        "prompt_sha256": record.prompt_sha256,
        "position": record.position,
        "correct": score.correct if score else None,
        "graded": score.graded if score else None,
        "metrics": [{"name": name, "value": value} for name, value in metrics.items()],
        "extracted": score.extracted if score else None,
        "reason": score.reason if score else None,
        "error": record.error,
        "peak_memory_bytes": record.peak_memory_bytes,
        "energy_j": cards.energy_j if cards else None,
        "throttled": cards.throttled if cards else None,
        "turns": [_turn(turn) for turn in record.turns],
    }


def _turn(turn: Generation) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.to_builtins(turn)
    for token, classified in zip(row["loosened"], turn.loose_tokens, strict=True):
        token |= token.pop("opinion") | {"kind": turn.token_class(classified)}
    return row


def clean(value: Any) -> Any:
    """Plain data with lone surrogates, which no file of UTF-8 can hold, spelled out."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items()}
    return [clean(item) for item in value] if isinstance(value, list) else value
