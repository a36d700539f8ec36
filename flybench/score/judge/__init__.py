"""Judging answers that no rule can score, by a model behind an endpoint or one of our own.

prompts.py asks, verdicts.py reads, questions.py says what a run needs to ask, asking.py asks what
nobody has asked before, and grades.py makes scores of the verdicts.

    flybench run model=… method=fly task=mt_bench judge=openai judge.model=…
    flybench score RUN judge=local judge.model=…
"""

from __future__ import annotations

from flybench.config import JudgeConfig, RunConfig
from flybench.core.errors import FlybenchError
from flybench.core.samples import Prompt
from flybench.score.judge.base import Judge
from flybench.score.judge.endpoint import EndpointJudge
from flybench.score.judge.references import with_references
from flybench.tasks.base import Task


def build_judge(config: JudgeConfig) -> Judge:
    """The judge of a configuration whose kind is not none; nothing is loaded or asked yet."""
    if config.kind == "openai":
        return EndpointJudge(config)
    # It brings the engines along, which nothing else that reads runs needs.
    from flybench.score.judge.local import LocalJudge

    return LocalJudge(config)


def prompts_to_judge(config: RunConfig, task: Task) -> dict[str, Prompt]:
    """The task's prompts by sample, with the reference answers that the judge is shown.

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
    """Find out before a token is decoded whether the answers can be judged.

    Raises:
        FlybenchError: they cannot.
    """
    if config.judge.kind != "none":
        prompts_to_judge(config, task)
        build_judge(config.judge).check()
