"""Every finished record through a scorer, into `scores.jsonl`."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from tqdm import tqdm

from flybench.core import Record, Score
from flybench.records import RunFolder

TIMEOUT = "timeout"  # what the sandbox calls it, and what a score's reason then begins with


class Scorer(Protocol):
    """A task with its rule, or the verdicts of a judging model."""

    def score(self, record: Record) -> Score: ...


def score_run(folder: RunFolder, scorer: Scorer) -> list[Score]:
    """Score every finished record and write the scores.

    Raises:
        FlybenchError: a record's sample is not in the task's data.
    """
    records = [record for record in folder.records().values() if record.error is None]
    # The sandbox waits for other processes, so threads keep every core busy.
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        judged = pool.map(scorer.score, records)
        scores = list(tqdm(judged, "score", len(records), unit="answer", leave=False, disable=None))
    # Beside others a program may have been too slow that is not so alone.
    scores = [
        scorer.score(record) if score.reason.startswith(TIMEOUT) else score
        for record, score in zip(records, scores, strict=True)
    ]
    folder.write_scores(scores)
    return scores
