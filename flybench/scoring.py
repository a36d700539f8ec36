"""Judge a run's records again, without a model: `flybench score RUN`.

Scoring reads records and the task's data, and writes `scores.jsonl`; it can be repeated, and a
failure here never touches a generated token.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from tqdm import tqdm

from flybench.core import Score
from flybench.records import RunFolder
from flybench.tasks.base import Task

TIMEOUT = "timeout"  # what the sandbox calls it, and what a score's reason then begins with


def score_run(folder: RunFolder, task: Task) -> list[Score]:
    """Score every finished record and write the scores.

    Raises:
        FlybenchError: a record's sample is not in the task's data.
    """
    records = [record for record in folder.records().values() if record.error is None]
    # The sandbox waits for other processes, so threads keep every core busy.
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        judged = pool.map(task.score, records)
        scores = list(tqdm(judged, "score", len(records), unit="answer", leave=False, disable=None))
    # Beside others a program may have been too slow that is not so alone.
    scores = [
        task.score(record) if score.reason.startswith(TIMEOUT) else score
        for record, score in zip(records, scores, strict=True)
    ]
    folder.write_scores(scores)
    return scores
