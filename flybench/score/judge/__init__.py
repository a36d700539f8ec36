"""Scoring by a judge model (local or behind an endpoint), for tasks without a scoring rule.

`questions.py` lists the questions of a run. `prompts.py` renders them and parses verdicts.
`asking.py` asks the questions that have no verdict yet, and `grades.py` converts verdicts to
scores.

    flybench run model=… method=fly task=mt_bench judge=openai judge.model=…
    flybench score RUN judge=local judge.model=…
"""

from __future__ import annotations

from flybench.config import JudgeConfig, RunConfig
from flybench.core.errors import FlybenchError
from flybench.core.samples import Prompt
from flybench.score.judge.base import Judge
from flybench.score.judge.endpoint import EndpointJudge
from flybench.score.judge.questions import with_references
from flybench.tasks.base import Task


def build_judge(config: JudgeConfig) -> Judge:
    """Build the judge of a configuration whose kind is not none; nothing is loaded yet."""
    if config.kind == "openai":
        return EndpointJudge(config)
    # Imports the engines, which an endpoint does not need.
    from flybench.score.judge.local import LocalJudge

    return LocalJudge(config)


def prompts_to_judge(config: RunConfig, task: Task) -> dict[str, Prompt]:
    """Return the task's prompts by sample, with reference answers for the judge.

    Raises:
        FlybenchError: a rule scores the task, or the reference answers cannot be read.
    """
    if task.judged != "unjudged":
        raise FlybenchError(
            f"judge={config.judge.kind} with task={config.task.name} is not allowed, because a "
            "rule scores its answers: use judge=none, or task=mt_bench."
        )
    return {prompt.sample_id: prompt for prompt in with_references(task.prompts(), config)}


def check_judge(config: RunConfig, task: Task) -> None:
    """Check before decoding that the answers can be judged.

    Raises:
        FlybenchError: the answers cannot be judged.
    """
    if config.judge.kind != "none":
        prompts_to_judge(config, task)
        build_judge(config.judge).check()
