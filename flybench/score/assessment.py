"""From a run's records to its scores, without the models that decoded.

A task's own rule scores, or a judging model where there is no rule. Both can be repeated, and a
failure here never touches a generated token.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flybench.config import RunConfig
from flybench.core.errors import FlybenchError
from flybench.core.samples import Score
from flybench.records.folder import RunFolder
from flybench.score.judge import build_judge, prompts_to_judge
from flybench.score.judge.asking import ask_all
from flybench.score.judge.base import Judge
from flybench.score.judge.grades import Grader
from flybench.score.judge.questions import questions
from flybench.score.scoring import score_run
from flybench.tasks import build_task
from flybench.tasks.base import Judged, Task

# What provenance tells of each kind of judge.
TOLD = {"openai": ("kind", "model", "base_url", "temperature"), "local": ("kind", "model", "dtype")}


def assess(folder: RunFolder, config: RunConfig, judge: Judge | None = None) -> None:
    """Score what a run has recorded.

    `judge` is that of `config.judge` where it is built already.

    Raises:
        FlybenchError: the task's data are not those of the run, or its judge cannot be asked.
    """
    task = build_task(config.task)
    if folder.provenance().get("data_sha256") not in (None, task.data_sha256):
        raise FlybenchError(
            f"The data of task {config.task.name} are not those that {folder.path} was made with: "
            "put these back where they were, or run again with the new ones."
        )
    judged, about = task.judged, None
    if config.judge.kind == "none":
        score_run(folder, task, by_answer=True)
    else:
        judged = _extent(score_run(folder, _grader(folder, config, task, judge)))
        about = _about(config)
    folder.amend(judged=judged, judge=about)


def _grader(folder: RunFolder, config: RunConfig, task: Task, judge: Judge | None) -> Grader:
    """Judgements of every answer, asked for where there is none yet."""
    judge = judge or build_judge(config.judge)
    prompts, records = prompts_to_judge(config, task), folder.records()
    asked = list(questions(records, prompts, judge.identity))
    ask_all(folder, asked, judge, config.judge)
    return Grader.of(records, asked, folder.judgements())


def _extent(scores: list[Score]) -> Judged:
    graded = [score.correct is not None for score in scores]
    if not any(graded):
        return "unjudged"
    return "scored" if all(graded) else "partly judged"


def _about(config: RunConfig) -> dict[str, Any]:
    """The judge as provenance names it; configuration refuses addresses that hold secrets."""
    known = asdict(config.judge)
    return {name: known[name] for name in TOLD[config.judge.kind]}
