"""A run's records and scores as pandas tables: one row a sample, one a round, or one a card.

Everything that a summary, a table or a figure shows starts from these three.
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
    "before_fact": "object",
}


class ClassifiedToken(NamedTuple):
    """A loose token and its class (`token_classes.CLASSES`)."""

    token: LooseToken
    kind: str


ROUND = Round.__struct_fields__


def sample_frame(folder: RunFolder, method: str) -> pd.DataFrame:
    """The table of `_sample_frame`, worked out once by a folder that remembers."""
    frame: pd.DataFrame = folder.cached(("samples", method), lambda: _sample_frame(folder, method))
    return frame


def _sample_frame(folder: RunFolder, method: str) -> pd.DataFrame:
    """Finished samples of `method`, indexed by sample id; failed ones are left out.

    Turns of one conversation are added up; `ids`, `margins` and `loose_tokens` (each a
    `ClassifiedToken`, indexed within its turn) run through all of them, and so do `loose_indices`,
    indices into `ids`; `looped` counts the tokens in loops; `ttft_s` is the first turn's; `cached`
    adds up the tokens in the target's cache over rounds; `correct` is NaN where nothing judges the
    sample, `energy_j` and `throttled` (0 or 1) where no GPU reports them; `before_fact` has the
    loose tokens before the end of what the scorer read out of the last turn, or all of them where
    that is not found in it. Where a model `graded` the sample, `correct` is a share of the best
    grade, and `pairwise` 1, 0.5 or 0: better than AR's answer, as good, or worse.
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
    """Every round of the finished samples of `method`, in order, with its sample id and turn."""
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
    # In one go: there may be millions.
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
    """Every card's state at the end of every finished sample of `method`; empty without cards."""
    rows = [
        {"sample_id": record.sample_id, **msgspec.structs.asdict(gpu)}
        for record in _finished(folder, method)
        if record.telemetry
        for gpu in record.telemetry.gpus
    ]
    return pd.DataFrame(rows)


def methods_of(folder: RunFolder) -> list[str]:
    """Methods with records in the folder, AR and its second turn first."""
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
        "before_fact": _before_fact(turns, score),
    }


def _loose_indices(turns: list[Generation]) -> list[int]:
    """Where the loose tokens stand in the ids of all turns."""
    before = accumulate((len(turn.ids) for turn in turns), initial=0)
    return [
        start + token.index
        for start, turn in zip(before, turns, strict=False)
        for token in turn.loose_tokens
    ]


def classified(turn: Generation) -> list[ClassifiedToken]:
    """The loose tokens of an answer with their classes."""
    return [ClassifiedToken(token, turn.token_class(token)) for token in turn.loose_tokens]


def _before_fact(turns: list[Generation], score: Score | None) -> list[ClassifiedToken]:
    *earlier, last = turns
    read = score.extracted if score else None
    place = last.text.rfind(read) if read else -1
    end = place + len(read) if read and place >= 0 else len(last.text)
    before = [
        each for each in classified(last) if each.token.start is None or each.token.start < end
    ]
    return [each for turn in earlier for each in classified(turn)] + before


def _cached(turn: Generation) -> int:
    """Committed tokens but the last one, as every round of a turn found them, added up."""
    before = accumulate((round_.emitted for round_ in turn.rounds[:-1]), initial=0)
    return sum(turn.prompt_tokens - 1 + emitted for emitted in before) if turn.rounds else 0


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
