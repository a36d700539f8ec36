"""The built-in demo: complete, mixed, and solvable by its own reference answers."""

import json
from collections import Counter
from importlib import resources

import pytest

from flybench.config import TaskConfig
from flybench.core.errors import FlybenchError
from flybench.tasks.demo import DemoTask
from tests.helpers.answered import answered

ROWS = [
    json.loads(line)
    for line in resources.files("flybench.tasks").joinpath("data/demo.jsonl").open(encoding="utf-8")
]
TASK = DemoTask(TaskConfig("demo", "demo", max_new_tokens=64))


def right_answer(row: dict) -> str:
    reference = row["reference"]
    return {
        "number": lambda: f"Adding up gives {reference['answer']}.",
        "python": lambda: f"```python\n{reference['solution']}\n```",
        "contains": lambda: f"I think: {reference['answers'][0]}!",
        "exact": lambda: reference["answer"] + "\n",
    }[row["kind"]]()


def test_eighty_samples_in_a_mix_that_holds_for_prefixes() -> None:
    assert Counter(row["category"] for row in ROWS) == {
        "math": 40,
        "code": 20,
        "chat": 10,
        "ood": 10,
    }
    for start in range(0, 80, 8):
        block = Counter(row["category"] for row in ROWS[start : start + 8])
        assert block == {"math": 4, "code": 2, "chat": 1, "ood": 1}


def test_prompts_follow_the_file() -> None:
    prompts = TASK.prompts(8)
    assert [prompt.sample_id for prompt in prompts] == [row["id"] for row in ROWS[:8]]
    chat = next(prompt for prompt in TASK.prompts() if prompt.category == "chat")
    assert len(chat.followups) == 1
    assert {prompt.max_new_tokens for prompt in prompts} == {64}


@pytest.mark.parametrize("row", [r for r in ROWS if r["kind"] != "open"], ids=lambda row: row["id"])
def test_reference_answers_score_and_empty_ones_do_not(row: dict) -> None:
    assert TASK.score(answered(row["id"], right_answer(row))).correct == 1
    assert TASK.score(answered(row["id"], "")).correct == 0


def test_open_items_stay_unjudged() -> None:
    chat = next(row for row in ROWS if row["kind"] == "open")
    score = TASK.score(answered(chat["id"], "one", "two"))
    assert score.correct is None
    assert score.metrics == {}


def test_a_sample_that_left_the_data_is_named() -> None:
    with pytest.raises(FlybenchError, match="gone-1 is not in the task's data"):
        TASK.score(answered("gone-1", "x"))
