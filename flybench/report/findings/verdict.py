"""Verdicts on the methods of a run: is the method faster, and does it keep AR's accuracy?

The verdict is open for small samples and for intervals that contain the value in question.
"""

from __future__ import annotations

from typing import NamedTuple

from flybench.report.findings.accuracy import accuracy
from flybench.report.findings.badge import VerdictBadge, count
from flybench.report.findings.notes import notes
from flybench.report.findings.speed import speed
from flybench.report.run import Arm, Run
from flybench.text import number


class ArmVerdict(NamedTuple):
    """Verdict on one arm: badges with sentences, and notes."""

    title: str
    findings: list[VerdictBadge]
    notes: list[str]


def verdicts(run: Run) -> list[ArmVerdict]:
    """Return one verdict per compared method, or one for AR if no other method ran."""
    return [ArmVerdict(arm.name, _findings(run, arm), notes(run, arm)) for arm in run.shown]


def _findings(run: Run, arm: Arm) -> list[VerdictBadge]:
    if not arm.row.n:
        text = f"No sample of {arm.method} finished, so nothing was measured."
        return [VerdictBadge("bad", "no result", text)]
    if arm.method == "ar":
        return [_baseline(arm)]
    return [speed(run, arm), accuracy(run, arm)]


def _baseline(arm: Arm) -> VerdictBadge:
    row = arm.row
    text = (
        f"Only autoregressive decoding ran, at {number(row.tokens_per_second, 1)} tokens/s over "
        f"{count(row.n, 'sample')}: no other method was run for comparison. "
    )
    if not row.n_scored:
        return VerdictBadge("open", "baseline only", f"{text}No answer was scored.")
    scored = count(row.n_scored, "scored answer")
    score = "mean grade, as a share of the best grade," if arm.graded else "accuracy"
    text += f"Its {score} is {row.estimate('accuracy').in_words('%')} over {scored}."
    return VerdictBadge("open", "baseline only", text)
