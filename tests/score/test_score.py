"""Scoring: every record has a score, equal answers have the same, and timeouts a second chance."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

import pytest

from flybench.core.samples import Generation, Record, Score
from flybench.records.folder import RunFolder
from flybench.score.score import score_records

ANSWERS = {"ar": "4", "spd": "4", "fly": "5"}


class Unsteady:
    """Passes every other time that it is asked."""

    def __init__(self, reason: str = "") -> None:
        self.asked: list[tuple[str, str]] = []
        self._reason, self._lock = reason, Lock()

    def score(self, record: Record) -> Score:
        with self._lock:
            self.asked.append((record.sample_id, record.method))
            passed = float(len(self.asked) % 2)
        reason = self._reason if len(self.asked) <= len(ANSWERS) else "passed"
        return Score(record.sample_id, record.method, passed, {}, None, reason)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path)
    for method, text in ANSWERS.items():
        turn = Generation(1, [1], text, "eos", [0.0], [], 0, 0, 0)
        folder.append(Record("s", method, "", 0, "", [turn]))
    return folder


def test_equal_answers_are_scored_once_by_a_rule(folder: RunFolder) -> None:
    scorer = Unsteady()
    found = {score.method: score.correct for score in score_records(folder, scorer, by_answer=True)}
    assert set(found) == set(ANSWERS)
    assert found["ar"] == found["spd"]
    assert len(scorer.asked) == 2
    assert {key: score.correct for key, score in folder.scores().items()} == {
        ("s", method): correct for method, correct in found.items()
    }


def test_otherwise_every_method_is_asked_about(folder: RunFolder) -> None:
    scorer = Unsteady()
    score_records(folder, scorer)
    assert sorted(scorer.asked) == [("s", "ar"), ("s", "fly"), ("s", "spd")]


def test_a_timeout_is_judged_again(folder: RunFolder) -> None:
    scorer = Unsteady("timeout after 10 s")
    assert {score.reason for score in score_records(folder, scorer)} == {"passed"}
    assert len(scorer.asked) == 2 * len(ANSWERS)
