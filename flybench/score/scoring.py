"""Every finished record through a scorer, into `scores.jsonl`."""

from __future__ import annotations

import os
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from msgspec import structs
from tqdm import tqdm

from flybench.core.samples import Record, Score
from flybench.records.folder import RunFolder

TIMEOUT = "timeout"  # what the sandbox calls it, and what a score's reason then begins with


class Scorer(Protocol):
    """A task with its rule, or the verdicts of a judging model."""

    def score(self, record: Record) -> Score: ...


def score_run(folder: RunFolder, scorer: Scorer, by_answer: bool = False) -> list[Score]:
    """Score every finished record and write the scores.

    With `by_answer`, equal answers to a sample are scored once, whichever methods gave them: a rule
    sees the text alone, and a program that now passes and now does not must set no two apart.

    Raises:
        FlybenchError: a record's sample is not in the task's data.
    """
    records = [record for record in folder.records().values() if record.error is None]
    equal: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in records:
        said = [turn.text for turn in record.turns] if by_answer else [record.method]
        equal[record.sample_id, *said].append(record)
    firsts = [group[0] for group in equal.values()]
    # The sandbox waits for other processes, so threads keep every core busy.
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        judged = pool.map(scorer.score, firsts)
        scores = list(tqdm(judged, "score", len(firsts), unit="answer", leave=False, disable=None))
    # Beside others a program may have been too slow that is not so alone.
    scores = [
        scorer.score(record) if score.reason.startswith(TIMEOUT) else score
        for record, score in zip(firsts, scores, strict=True)
    ]
    every = [
        structs.replace(score, method=record.method)
        for score, group in zip(scores, equal.values(), strict=True)
        for record in group
    ]
    folder.write_scores(every)
    return every
