"""Score the records of a run and write `scores.jsonl`.

The task's own rule scores the answers, or a judge model if the task has no rule. The decoding
models are not needed. Scoring can be repeated and never changes a record.
"""

from __future__ import annotations

import os
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Protocol

from msgspec import structs
from tqdm import tqdm

from flybench.config import RunConfig
from flybench.core.errors import FlybenchError
from flybench.core.samples import Record, Score
from flybench.records.folder import RunFolder
from flybench.score.judge import build_judge, prompts_to_judge
from flybench.score.judge.asking import ask_all
from flybench.score.judge.base import Judge
from flybench.score.judge.grades import Grader
from flybench.score.judge.questions import questions
from flybench.tasks import build_task
from flybench.tasks.base import Judged, Task

TIMEOUT = "timeout"  # the prefix of the reason, set by the sandbox
# Settings of a judge that are kept in provenance, by its kind.
JUDGE_FACTS = {
    "openai": ("kind", "model", "base_url", "temperature"),
    "local": ("kind", "model", "dtype"),
}


class Scorer(Protocol):
    """A rule of a task, or the verdicts of a judge model."""

    def score(self, record: Record) -> Score: ...


def score_records(folder: RunFolder, scorer: Scorer, by_answer: bool = False) -> list[Score]:
    """Score every finished record and write the scores.

    With `by_answer`, equal answers to a sample are scored once for all methods. A rule reads only
    the text, and a program with unstable results must not give equal answers different scores.

    Raises:
        FlybenchError: a record's sample is not in the task's data.
    """
    records = [record for record in folder.records().values() if record.error is None]
    equal: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in records:
        answer = [turn.text for turn in record.turns] if by_answer else [record.method]
        equal[record.sample_id, *answer].append(record)
    firsts = [group[0] for group in equal.values()]
    # The sandbox waits for other processes, so threads keep every core busy.
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        judged = pool.map(scorer.score, firsts)
        scores = list(tqdm(judged, "score", len(firsts), unit="answer", leave=False, disable=None))
    # A program may time out only because of other processes: try each timeout again alone.
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


def score_folder(folder: RunFolder, config: RunConfig, judge: Judge | None = None) -> None:
    """Score the records of a run with the task's rule or the judge of `config`.

    `judge` is an existing instance of the judge of `config.judge`, if there is one.

    Raises:
        FlybenchError: the task's data differ from those of the run, or the judge is not available.
    """
    task = build_task(config.task)
    if folder.provenance().get("data_sha256") not in (None, task.data_sha256):
        raise FlybenchError(
            f"The data of task {config.task.name} differ from those of the run {folder.path}: "
            "restore the data of the run, or run again with the new data."
        )
    judged, facts = task.judged, None
    if config.judge.kind == "none":
        score_records(folder, task, by_answer=True)
    else:
        judged = _judged(score_records(folder, _grader(folder, config, task, judge)))
        facts = _judge_facts(config)
    folder.amend(judged=judged, judge=facts)


def _grader(folder: RunFolder, config: RunConfig, task: Task, judge: Judge | None) -> Grader:
    """Ask for the missing verdicts, and return a scorer of all of them."""
    judge = judge or build_judge(config.judge)
    prompts, records = prompts_to_judge(config, task), folder.records()
    asked = list(questions(records, prompts, judge.identity))
    ask_all(folder, asked, judge, config.judge)
    return Grader.of(records, asked, folder.judgements())


def _judged(scores: list[Score]) -> Judged:
    graded = [score.correct is not None for score in scores]
    if not any(graded):
        return "unjudged"
    return "scored" if all(graded) else "partly judged"


def _judge_facts(config: RunConfig) -> dict[str, Any]:
    """Return the settings of the judge for provenance; the URL has been checked for secrets."""
    known = asdict(config.judge)
    return {name: known[name] for name in JUDGE_FACTS[config.judge.kind]}
