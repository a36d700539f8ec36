"""MBPP+: both formats of its data, the reference solutions, and answers that more inputs refute."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flybench.config import TaskConfig
from flybench.core.errors import FlybenchError
from flybench.tasks.mbpp import mbpp_plus
from flybench.tasks.mbpp.mbpp_plus import MbppPlusTask
from flybench.tasks.mbpp.plus_check import same
from flybench.tasks.mbpp.plus_inputs import CONVERSIONS, as_python
from tests.helpers.answered import answered
from tests.helpers.toys import assert_one_sentence


def row(number: int, name: str, body: str, base: Any, plus: Any, atol: float = 0) -> dict[str, Any]:
    """A problem of our own as EvalPlus writes them."""
    return {
        "task_id": f"Mbpp/{number}",
        "prompt": f'"""\nWrite {name}.\nassert {name}(…) == …\n"""\n',
        "entry_point": name,
        "canonical_solution": f"\ndef {name}{body}\n",
        "base_input": base,
        "plus_input": plus,
        "atol": atol,
        "contract": "",
        "assertion": "",
    }


ROWS = [
    # Number 2 is one of those whose arguments are tuples.
    row(2, "joined", "(a, b):\n    return a + b", [[[1], [2]]], [[[], []], [[3, 4], []]]),
    row(9001, "mean", "(a):\n    return sum(a) / len(a)", [[[1, 2]]], [[[0.1, 0.2, 0.3]]]),
    row(9002, "root", "(x):\n    return x ** 0.5", [[4]], [[2], [1e6]], atol=0.01),
    row(9003, "largest", "(a):\n    a.sort()\n    return a[-1]", [[[1, 2]]], [[[3, 1]]]),
    row(9004, "Diff", "(a, b):\n    return list(set(a) - set(b))", [[[1, 2, 3], [1]]], []),
    row(9005, "check_str", "(s):\n    import re\n    return re.match('a', s)", [["ab"]], [["b"]]),
    row(9006, "bounded", "(x):\n    return min(x, 9)", [[1]], [[float("inf")], [-3]]),
]
OTHERS = {  # right answers that are not the reference's own
    "mean": "(a):\n    return sum(x / len(a) for x in a)",
    "root": "(x):\n    return round(x ** 0.5, 2)",
    "largest": "(a):\n    return max(a)",
    "Diff": "(a, b):\n    return tuple(x for x in reversed(a) if x not in b)",
    "check_str": "(s):\n    return s.startswith('a')",
}
MUTANTS = {  # what a base input alone would let pass, and worse
    "joined": "(a, b):\n    return list(a) + list(b)",
    "mean": "(a):\n    return sum(a) / 2",
    "root": "(x):\n    return 2.0",
    "largest": "(a):\n    return a[-1]",
    "Diff": "(a, b):\n    return a",
    "check_str": "(s):\n    return True",
    "bounded": "(x):\n    return min(abs(x), 9)",
}


@pytest.fixture
def task(tmp_path: Path) -> MbppPlusTask:
    lines = "".join(json.dumps(each) + "\n" for each in ROWS)
    (tmp_path / "MbppPlus.jsonl").write_text(lines)
    return MbppPlusTask(TaskConfig("mbpp_plus", "mbpp_plus", str(tmp_path)))


def judged(task: MbppPlusTask, number: int, body: str, name: str) -> tuple[float | None, str]:
    text = f"Here it is:\n```python\ndef {name}{body}\n```"
    score = task.score(answered(f"Mbpp/{number}", text))
    assert score.metrics["pass@1"] == score.correct
    return score.correct, score.reason


def test_a_prompt_shows_the_problem_and_one_assertion(task: MbppPlusTask) -> None:
    first, second = task.prompts(2)
    assert first.sample_id == "Mbpp/2"
    (message,) = first.messages
    assert message["content"].startswith("Write joined.\nassert joined(…) == …\n\nReply with")
    assert second.category == "code"


@pytest.mark.parametrize("each", ROWS, ids=lambda each: each["entry_point"])
def test_solutions_pass_and_mutants_fail(task: MbppPlusTask, each: dict[str, Any]) -> None:
    name, number = each["entry_point"], int(each["task_id"].split("/")[1])
    own = each["canonical_solution"].strip().removeprefix(f"def {name}")
    assert judged(task, number, own, name) == (1.0, "passed")
    if name in OTHERS:
        assert judged(task, number, OTHERS[name], name) == (1.0, "passed")
    correct, reason = judged(task, number, MUTANTS[name], name)
    assert correct == 0.0
    assert "AssertionError" in reason


def test_an_answer_keeps_its_own_helpers(task: MbppPlusTask) -> None:
    """Nothing of the comparison has a name in the answer's program."""
    text = (
        "```python\ndef same(a): return max(a)\ncheck = same\ndef largest(a): return check(a)\n```"
    )
    assert task.score(answered("Mbpp/9003", text)).correct == 1.0
    text = "```python\ndef largest(a):\n    raise SystemExit\n```"
    assert task.score(answered("Mbpp/9003", text)).correct == 0.0
    assert task.score(answered("Mbpp/9003", "I cannot.")).metrics["extraction_failure"] == 1.0


HUB: dict[str, Any] = {
    "task_id": 9003,
    "prompt": "Write a function to find the largest.",
    "code": "def largest(a):\n    return max(a)",
    "test_imports": [],
    "test_list": ["assert largest([1, 2]) == 2", "assert largest([1]) == 1"],
    "test": "from math import inf\n\ndef assertion(out, exp, atol):\n    assert out == exp\n\n"
    "inputs = [[[1, 2]], [[(1, 2), (0, 3)]], [[-inf, 2j.imag]]]\nresults = [2, (1, 2), 2.0]\n"
    "for i, (inp, exp) in enumerate(zip(inputs, results)):\n"
    "    assertion(largest(*inp), exp, 0.5)\n",
}


def test_rows_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mbpp_plus, "read_hub", lambda *arguments: [HUB])
    task = MbppPlusTask(TaskConfig("mbpp_plus", "mbpp_plus"))
    (prompt,) = task.prompts()
    (message,) = prompt.messages
    assert message["content"].startswith(HUB["prompt"] + "\nassert largest([1, 2]) == 2\n\n")
    for body, correct in (("(a): return sorted(a)[-1]", 1.0), ("(a): return a[-1]", 0.0)):
        score = task.score(answered("9003", f"```python\ndef largest{body}\n```"))
        assert score.correct == correct


@pytest.mark.parametrize("broken", [{}, {"base_input": 3}, {"task_id": "two"}, {"prompt": "Add."}])
def test_damaged_rows_are_one_sentence(tmp_path: Path, broken: dict[str, Any]) -> None:
    file = tmp_path / "MbppPlus.jsonl"
    file.write_text(json.dumps(ROWS[0] | broken if broken else {"task_id": 1}))
    with pytest.raises(FlybenchError) as caught:
        MbppPlusTask(TaskConfig("mbpp_plus", "mbpp_plus", str(file)))
    assert_one_sentence(caught.value, "row 1")


@pytest.mark.parametrize(
    ("name", "found", "expected", "arguments", "atol", "verdict"),
    [
        ("f", 0.1 + 0.2, 0.3, (), 0, True),
        ("f", 0.30001, 0.3, (), 0, False),
        ("f", [0.1 + 0.2, 1.0], [0.3, 1.0], (), 0, True),
        ("f", (0.3,), [0.3], (), 0, False),  # equal in all but type
        ("f", [0.3], [0.3, 0.3], (), 0, False),
        ("f", 3, 3.0, (), 0, True),
        ("f", 3, 3.0000001, (), 0, False),  # only a float may be close to a float
        ("f", [], [], (), 0, True),
        ("f", float("nan"), float("nan"), (), 0, False),
        ("are_equivalent", False, True, (1, 2), 0, True),
        ("sum_div", 0, 7, (7,), 0, True),
        ("sum_div", 1, 7, (7,), 0, False),
        ("surface_Area", 33, 99, (3, 4), 0, False),
        ("surface_Area", 35, 33, (3, 4), 0, True),  # 9 + 6 · √(2.25 + 16) = 34.6
        ("digit_distance_nums", 7, 1, (23, 156), 0, True),  # of 023 and 156
        ("text_match_three", object(), True, (), 0, True),
    ],
)
def test_comparison(
    name: str, found: Any, expected: Any, arguments: Any, atol: float, verdict: bool
) -> None:
    assert same(name, found, expected, arguments, atol) is verdict


@pytest.mark.parametrize(
    ("number", "written", "read"),
    [
        (1, [[1, 2]], [[1, 2]]),
        (2, [[1], [2]], [(1,), (2,)]),
        (63, [[[1, 2], [3, 4]]], [[(1, 2), (3, 4)]]),
        (75, [[[1, 2]], 3], [[(1, 2)], 3]),
        (106, [[1], [2]], [[1], (2,)]),
        (115, [[[1, 1], []]], [[{1}, {}]]),
        (124, ["1.5", "2j"], [1.5, 2j]),
        (250, [[1], 2], [(1,), 2]),
        (252, ["1+2j"], [1 + 2j]),
        (259, [[[1], [2]], [[3]]], [((1,), (2,)), ((3,),)]),
        (278, [[1, [2, [3]]]], [(1, (2, [3]))]),
        (580, [[1, [2, [3]]]], [(1, (2, (3,)))]),
        (722, [{"a": [1, 2]}, 3], [{"a": (1, 2)}, 3]),
    ],
)
def test_inputs_get_their_types(number: int, written: Any, read: Any) -> None:
    (found,) = as_python(f"Mbpp/{number}", [written])
    assert repr(found) == repr(read)


def test_no_problem_is_converted_twice() -> None:
    assert len(CONVERSIONS) == 22 + 15 + 4 + 8 + 4 + 2 + 3 + 4
