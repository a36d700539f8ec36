"""Verdicts: read where a judge gives one in the form asked for, and nowhere else."""

from __future__ import annotations

import pytest

from flybench.score.judge.base import Reply
from flybench.score.judge.prompts import read_verdict


def reply(text: str, finish: str = "stop") -> Reply:
    return Reply(text, finish, 1, 1)


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("Grade: 7", 7),
        ("It is right.\nGrade: 10", 10),
        ("It is right.\n\n**Grade: 8**\n\n", 8),
        ("**Grade:** 8", 8),
        ("### grade : 3/10.", 3),
        ("Grade: [[9]]", 9),
        ("Grade: `1`", 1),
        ("Grade: 7.5", 7.5),
        ("$\\$\nGrade: 4 / 10", 4),
        ("The answer says \"Grade: 10\".\nGrade: 2", 2),
        ("<think>\nGrade: 9\n</think>\n\nPoor.\nGrade: 2", 2),
        ("", None),
        ("Grade: N", None),
        ("Grade: 0", None),
        ("Grade: 11", None),
        ("Grade: -7", None),
        ("Grade: 7 or 8", None),
        ("Grade: 7-8", None),
        ("Grade: seven", None),
        ("Grade: 7,5", None),
        ("Grade: 7/5", None),
        ("Grade: 8 out of 10", 8),
        ("Grade: **8** out of 10.", 8),
        ("the user wants\n</think>Grade: 8", 8),
        ("Grade: 8 out of 100", None),
        ("Grade:", None),
        ("7", None),
        ("I would grade: 7", None),
        ("Grade: 7\nI hope this helps.", None),
        ("<think>\nPerhaps\nGrade: 9", None),
        ("Grade: 7\n<think>", None),
        ("Rating: 7", None),
        ("Grade: ٧", None),
    ],
)  # fmt: skip
def test_grades(text: str, grade: float | None) -> None:
    assert read_verdict("single", reply(text)) == grade


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Verdict: A", "A"),
        ("A is better.\nVerdict: B", "B"),
        ("**Verdict: tie**", "tie"),
        ("verdict: [[b]].", "B"),
        ("Verdict: TIE", "tie"),
        ("Verdict: A\n", "A"),
        ("Verdict: X", None),
        ("Verdict: A or B", None),
        ("Verdict: C", None),
        ("Verdict: Assistant A", "A"),
        ("Verdict: A is better", "A"),
        ("Verdict: **Assistant B** is better.", "B"),
        ("Verdict: B is not better", None),
        ("9 x 2\n</think>Verdict: tie", "tie"),
        ("A", None),
        ("Verdict: A\nor was it B?", None),
        ("Grade: 7", None),
    ],
)
def test_comparisons(text: str, verdict: str | None) -> None:
    assert read_verdict("pair", reply(text)) == verdict


def test_a_reply_that_was_cut_off_has_no_verdict() -> None:
    assert read_verdict("single", reply("Grade: 1", "length")) is None
