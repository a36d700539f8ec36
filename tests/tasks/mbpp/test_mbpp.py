"""MBPP: the test part is asked, and the function that the tests call is run with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flybench.config import TaskConfig
from flybench.core.errors import FlybenchError
from flybench.tasks.mbpp.mbpp import MbppTask, entry_point
from tests.helpers.answered import answered

ROWS = [
    {
        "task_id": number,
        "prompt": "Write a function that doubles a number and rounds it up.",
        "code": "import math\ndef helper(x): return x\ndef doubled(x): return math.ceil(2 * x)",
        "test_imports": ["import math"],
        "test_list": ["assert doubled(2) == math.ceil(4)", "assert set([doubled(1.2)]) == {3}"],
    }
    for number in (7, 11, 510, 511)
]
RIGHT = "```python\nimport math\ndef doubled(x):\n    return math.ceil(2 * x)\n```"


@pytest.fixture
def task(tmp_path: Path) -> MbppTask:
    (tmp_path / "sanitized-mbpp.json").write_text(json.dumps(ROWS))
    return MbppTask(TaskConfig("mbpp", "mbpp", str(tmp_path)))


def test_only_the_test_part_is_asked_with_its_tests(task: MbppTask) -> None:
    prompts = task.prompts()
    assert [prompt.sample_id for prompt in prompts] == ["11", "510"]
    (message,) = prompts[0].messages
    assert message["content"].startswith("Write a function that doubles")
    assert "assert doubled(2) == math.ceil(4)" in message["content"]


@pytest.mark.parametrize(
    ("answer", "correct", "failure"),
    [
        (RIGHT, 1.0, 0.0),
        (RIGHT.replace("2 *", "3 *"), 0.0, 0.0),
        (RIGHT.replace("doubled", "twice"), 0.0, 1.0),
        ("I cannot.", 0.0, 1.0),
        (RIGHT.replace("import math", "from __future__ import annotations\nimport math"), 1.0, 0.0),
        (RIGHT.replace("\n```", "\nif __name__ == '__main__':\n    input()\n```"), 1.0, 0.0),
        ("1. So:\n\n   " + RIGHT.replace("\n", "\n   "), 1.0, 0.0),
        ("```python\ndef doubled(x):\n    raise SystemExit(0)\n```", 0.0, 0.0),
    ],
)
def test_answers_are_run_against_the_tests(
    task: MbppTask, answer: str, correct: float, failure: float
) -> None:
    score = task.score(answered("11", answer))
    assert score.correct == correct
    assert score.metrics == {"pass@1": correct, "extraction_failure": failure}


def test_the_own_solution_passes(task: MbppTask) -> None:
    assert task.score(answered("11", f"```python\n{ROWS[0]['code']}\n```")).correct == 1


def test_the_function_is_the_one_that_the_tests_call() -> None:
    assert entry_point(ROWS[0]) == "doubled"


def test_dataclasses_work_in_answers(task: MbppTask) -> None:
    first = "from __future__ import annotations\nimport dataclasses\n"
    thing = f"{first}@dataclasses.dataclass\nclass T:\n    x: int\nimport math"
    assert task.score(answered("11", RIGHT.replace("import math", thing))).correct == 1


def test_tests_that_are_no_python_are_refused_at_once(tmp_path: Path) -> None:
    row = ROWS[1] | {"test_list": ["assert ("]}
    (tmp_path / "sanitized-mbpp.json").write_text(json.dumps([row]))
    with pytest.raises(FlybenchError, match="MBPP's row 11"):
        MbppTask(TaskConfig("mbpp", "mbpp", str(tmp_path)))


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "sanitized-mbpp.json"
    for text, why in (("[{", "not a file of JSON rows"), ("[3]", "is not an object")):
        file.write_text(text)
        with pytest.raises(FlybenchError, match=why):
            MbppTask(TaskConfig("mbpp", "mbpp", str(file)))
