"""Scores from verdicts: the mean grade of an answer, and its comparison with AR's.

A grade needs a readable verdict on each turn of the sample, and a comparison needs two. A method
wins or loses only if the verdicts in both orders agree. Otherwise the comparison is a tie.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from flybench.config import BASELINE
from flybench.core.judgements import AGREEMENT, HIGHEST, Judgement
from flybench.core.samples import PAIRWISE, Record, Score
from flybench.records.folder import Key
from flybench.score.judge.questions import Question, alike

EXCERPT = 240
# Points of the method by verdict, for each order of the two answers.
POINTS = {
    "ar first": {"A": 0.0, "B": 1.0, "tie": 0.5},
    "method first": {"A": 1.0, "B": 0.0, "tie": 0.5},
}


@dataclass(frozen=True)
class Grader:
    """Scores records from existing `judgements` by key."""

    records: Mapping[Key, Record]
    asked: Mapping[Key, list[Question]]
    judgements: Mapping[str, Judgement]

    @classmethod
    def of(
        cls,
        records: Mapping[Key, Record],
        asked: Iterable[Question],
        judgements: Mapping[str, Judgement],
    ) -> Grader:
        by_record: dict[Key, list[Question]] = defaultdict(list)
        for question in asked:
            by_record[question.sample_id, question.method].append(question)
        return cls(records, by_record, judgements)

    def score(self, record: Record) -> Score:
        """Return the score of one finished record."""
        own = self.asked.get((record.sample_id, record.method), [])
        singles = {q.turn: self.judgements[q.key] for q in own if q.kind == "single"}
        grades = {turn: j.verdict for turn, j in singles.items() if isinstance(j.verdict, float)}
        whole = bool(grades) and len(grades) == len(singles)
        metrics = {f"turn {turn}": grade / HIGHEST for turn, grade in grades.items()}
        return Score(
            sample_id=record.sample_id,
            method=record.method,
            correct=fmean(grades.values()) / HIGHEST if whole else None,
            metrics=metrics | self._pairwise(record, own),
            extracted=", ".join(f"{grade:g}" for grade in grades.values()) or None,
            reason="; ".join(_words(turn, each) for turn, each in singles.items()),
            judgements=tuple(dict.fromkeys(question.key for question in own)),
        )

    def _pairwise(self, record: Record, own: Iterable[Question]) -> dict[str, float]:
        baseline = self.records.get((record.sample_id, BASELINE))
        if record.method == BASELINE or baseline is None or baseline.error:
            return {}
        if alike(baseline, record):
            return {PAIRWISE: 0.5}
        points = [
            POINTS[question.order].get(str(self.judgements[question.key].verdict))
            for question in own
            if question.order is not None
        ]
        known = [point for point in points if point is not None]
        if len(known) < len(points) or not known:
            return {}
        agree = len(set(known)) == 1
        return {PAIRWISE: known[0] if agree else 0.5, AGREEMENT: float(agree)}


def _words(turn: int | None, judgement: Judgement) -> str:
    """Return an excerpt of the judge's reply to a turn."""
    if judgement.error:
        return f"turn {turn}: the judge failed ({judgement.error})"
    said = " ".join(judgement.text.split())
    said = said if len(said) <= EXCERPT else said[: EXCERPT - 1] + "…"
    verdict = judgement.verdict
    read = f"{verdict:g}" if isinstance(verdict, float) else "no readable verdict"
    return f"turn {turn}: {read} ({said})"
