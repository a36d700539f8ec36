"""Export of records as rows of Parquet or `datasets`: prompt hash, answer and score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from datasets import Dataset, Features, Value, disable_progress_bars
from tqdm import tqdm

from flybench.core.samples import Generation, Record, Score
from flybench.records.cached import CachedFolder
from flybench.records.folder import RunFolder

INT, REAL, TEXT, TRUTH = Value("int64"), Value("float64"), Value("string"), Value("bool")
ROUND = {
    **dict.fromkeys(("drafted", "accepted", "loose", "emitted"), INT),
    "fates": TEXT,
    **dict.fromkeys(("draft_s", "verify_s", "other_s"), REAL),
}
LOOSE_TOKEN = {
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
    "loosened": [LOOSE_TOKEN],
}
# The columns, with one row per sample and method. `fates` has one letter per draft token:
# accepted e exact, l loose, s sampled; rejected g gate, w window, t tail, r other; . not reached.
# `correct` is null without a score.
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
    """Yield every record of a run, in order of samples and methods."""
    run = CachedFolder(folder.path)
    known, scores = run.provenance(), run.scores()
    names = {name: known[name] for name in ("model", "task", "device", "engine")}
    about = {"run": folder.path.resolve().name, "seed": known.get("seed"), **names}
    for key, record in sorted(run.records().items()):
        yield clean({**about, **_row(record, scores.get(key))})


def _row(record: Record, score: Score | None) -> dict[str, Any]:
    telemetry = record.telemetry
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
        "energy_j": telemetry.energy_j if telemetry else None,
        "throttled": telemetry.throttled if telemetry else None,
        "turns": [_turn(turn) for turn in record.turns],
    }


def _turn(turn: Generation) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.to_builtins(turn)
    for token, classified in zip(row["loosened"], turn.loose_tokens, strict=True):
        token |= token.pop("opinion") | {"kind": turn.token_class(classified)}
    return row


def clean(value: Any) -> Any:
    """Return plain data with lone surrogates escaped, which UTF-8 cannot encode."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items()}
    return [clean(item) for item in value] if isinstance(value, list) else value


PARQUET = "records.parquet"


def write_parquet(folders: Sequence[RunFolder], out: Path) -> list[Path]:
    """Write `records.parquet`, for pandas, Polars, DuckDB and `load_dataset("parquet")`."""
    file = out / PARQUET
    _dataset(folders).to_parquet(str(file))
    return [file]


def write_datasets(folders: Sequence[RunFolder], out: Path) -> list[Path]:
    """Write a folder for `datasets.load_from_disk`."""
    _dataset(folders).save_to_disk(str(out))
    return [out]


def _dataset(folders: Sequence[RunFolder]) -> Any:
    disable_progress_bars()  # the bar over the runs covers them
    return Dataset.from_list(list(_progress(folders)), features=FEATURES)


def _progress(folders: Sequence[RunFolder]) -> Iterable[dict[str, Any]]:
    for folder in tqdm(folders, desc="export", unit="run", disable=None):
        yield from rows(folder)
