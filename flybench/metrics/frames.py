"""Pandas tables of a run's records and scores, with one row per sample, round or GPU.

Summaries, report tables and figures are all computed from these three.
"""

from __future__ import annotations

from itertools import accumulate
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pandas as pd

from flybench.config import BASELINES
from flybench.core.samples import PAIRWISE, Generation, LooseToken, Record, Round, Score
from flybench.metrics.divergence import looped
from flybench.records.folder import RunFolder

SAMPLE_COLUMNS = {
    "category": "str",
    "prompt_tokens": "int64",
    "tokens": "int64",
    "rounds": "int64",
    "cached": "int64",
    "drafted": "int64",
    "accepted": "int64",
    "loose": "int64",
    "prefill_s": "float64",
    "ttft_s": "float64",
    "decode_s": "float64",
    "total_s": "float64",
    "capped": "bool",
    "looped": "int64",
    "correct": "float64",
    "graded": "bool",
    "pairwise": "float64",
    "peak_memory_bytes": "int64",
    "energy_j": "float64",
    "throttled": "float64",
    "ids": "object",
    "margins": "object",
    "loose_tokens": "object",
    "loose_indices": "object",
    "before_extracted": "object",
}


class ClassifiedToken(NamedTuple):
    """A loose token and its class (`token_classes.CLASSES`)."""

    token: LooseToken
    kind: str


ROUND = Round.__struct_fields__


def sample_frame(folder: RunFolder, method: str) -> pd.DataFrame:
    """Return the table of `_sample_frame`, cached by the folder."""
    frame: pd.DataFrame = folder.cached(("samples", method), lambda: _sample_frame(folder, method))
    return frame


def _sample_frame(folder: RunFolder, method: str) -> pd.DataFrame:
    """Return the finished samples of `method`, indexed by sample id.

    Counts and times are summed over the turns of a conversation. Columns that need explaining:

    - `ids`, `margins`, `loose_tokens`: concatenated over turns; a loose token is a
      `ClassifiedToken` whose index is within its turn. `loose_indices` are indices into `ids`.
    - `looped`: tokens in loops. `cached`: tokens in the target's cache, summed over rounds.
    - `ttft_s`: of the first turn.
    - `correct`: NaN if the sample was not judged; the grade divided by the best one if `graded`.
    - `pairwise`: for graded samples, 1, 0.5 or 0 for better than AR's answer, as good, or worse.
    - `energy_j`, `throttled` (0 or 1): NaN if no GPU reports them.
    - `before_extracted`: loose tokens before the end of the text that the scorer extracted from the
      last turn, or all of them if that text does not occur in it.
    """
    records, scores = _finished(folder, method), folder.scores()
    scored = [scores.get((record.sample_id, method)) for record in records]
    return _samples(records, scored)


def _samples(records: list[Record], scored: list[Score | None]) -> pd.DataFrame:
    rows = {
        record.sample_id: _sample(record, score)
        for record, score in zip(records, scored, strict=True)
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(SAMPLE_COLUMNS))
    frame.index.name = "sample_id"
    return frame.astype(SAMPLE_COLUMNS).sort_index()


def round_frame(folder: RunFolder, method: str) -> pd.DataFrame:
    """Return all rounds of the finished samples of `method`, with sample id and turn."""
    frame: pd.DataFrame = folder.cached(
        ("rounds", method), lambda: _rounds(_finished(folder, method))
    )
    return frame


def _rounds(records: list[Record]) -> pd.DataFrame:
    turns = [
        (record.sample_id, number, turn)
        for record in records
        for number, turn in enumerate(record.turns)
    ]
    rounds = [round_ for _, _, turn in turns for round_ in turn.rounds]
    if not rounds:
        return pd.DataFrame()
    lengths = [len(turn.rounds) for _, _, turn in turns]
    names = pd.Categorical([name for name, _, _ in turns])
    numbers = {
        "sample_id": names.repeat(lengths),
        "turn": np.repeat([number for _, number, _ in turns], lengths),
        "round": np.concatenate([np.arange(length) for length in lengths]),
    }
    # One pass over all fields, as there may be millions of rounds.
    parts = zip(*map(attrgetter(*ROUND), rounds), strict=True)
    return pd.DataFrame({**numbers, **dict(zip(ROUND, parts, strict=True))})


def _finished(folder: RunFolder, method: str) -> list[Record]:
    """Return the method's records of the samples that no method of the run failed on.

    A sample that one method failed on is left out of every row, because the methods would
    otherwise be measured on different samples.
    """
    records = folder.records().values()
    failed = {record.sample_id for record in records if record.error is not None}
    return [
        record for record in records if record.method == method and record.sample_id not in failed
    ]


def gpu_frame(folder: RunFolder, method: str) -> pd.DataFrame:
    """Return each GPU's state at the end of every finished sample of `method`."""
    rows = [
        {"sample_id": record.sample_id, **msgspec.structs.asdict(gpu)}
        for record in _finished(folder, method)
        if record.telemetry
        for gpu in record.telemetry.gpus
    ]
    return pd.DataFrame(rows)


def methods_of(folder: RunFolder) -> list[str]:
    """Return the methods with records in the folder, AR and its repeat first."""
    names = {method for _, method in folder.records()}
    return [name for name in BASELINES if name in names] + sorted(names - {*BASELINES})


def _sample(record: Record, score: Score | None) -> dict[str, Any]:
    turns, telemetry = record.turns, record.telemetry
    rounds = [round_ for turn in turns for round_ in turn.rounds]
    return {
        "category": record.category,
        "prompt_tokens": sum(turn.prompt_tokens for turn in turns),
        "tokens": sum(len(turn.ids) for turn in turns),
        "rounds": len(rounds),
        "cached": sum(map(_cached, turns)),
        "drafted": sum(r.drafted for r in rounds),
        "accepted": sum(r.accepted for r in rounds),
        "loose": sum(r.loose for r in rounds),
        "prefill_s": sum(turn.prefill_s for turn in turns),
        "ttft_s": turns[0].first_token_s,
        "decode_s": sum(turn.decode_s for turn in turns),
        "total_s": sum(turn.total_s for turn in turns),
        "capped": any(turn.finish == "length" for turn in turns),
        "looped": sum(looped(turn.ids) for turn in turns),
        "correct": _number(score.correct if score else None),
        "graded": score is not None and score.graded,
        "pairwise": _number(score.metrics.get(PAIRWISE) if score else None),
        "peak_memory_bytes": record.peak_memory_bytes or 0,
        "energy_j": _number(telemetry.energy_j if telemetry else None),
        "throttled": _number(telemetry.throttled if telemetry else None),
        "ids": [token for turn in turns for token in turn.ids],
        "margins": [margin for turn in turns for margin in turn.margins],
        "loose_tokens": [each for turn in turns for each in classified(turn)],
        "loose_indices": _loose_indices(turns),
        "before_extracted": _before_extracted(turns, score),
    }


def _loose_indices(turns: list[Generation]) -> list[int]:
    """Indices of the loose tokens in the concatenated ids of all turns."""
    before = accumulate((len(turn.ids) for turn in turns), initial=0)
    return [
        start + token.index
        for start, turn in zip(before, turns, strict=False)
        for token in turn.loose_tokens
    ]


def classified(turn: Generation) -> list[ClassifiedToken]:
    """Return the loose tokens of an answer with their classes."""
    return [ClassifiedToken(token, turn.token_class(token)) for token in turn.loose_tokens]


def _before_extracted(turns: list[Generation], score: Score | None) -> list[ClassifiedToken]:
    *earlier, last = turns
    extracted = score.extracted if score else None
    start = last.text.rfind(extracted) if extracted else -1
    end = start + len(extracted) if extracted and start >= 0 else len(last.text)
    before = [
        each for each in classified(last) if each.token.start is None or each.token.start < end
    ]
    return [each for turn in earlier for each in classified(turn)] + before


def _cached(turn: Generation) -> int:
    """Sum over rounds of the tokens in the cache: all committed tokens but the last."""
    before = accumulate((round_.emitted for round_ in turn.rounds[:-1]), initial=0)
    return sum(turn.prompt_tokens - 1 + emitted for emitted in before) if turn.rounds else 0


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
