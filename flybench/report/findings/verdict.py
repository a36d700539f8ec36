"""The verdict in plain words: is the method faster, and does it keep the accuracy?

A small sample, or an interval that contains the value asked about, is said to settle nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from flybench.report.findings.accuracy import accuracy
from flybench.report.findings.finding import INTERVAL, Finding, count
from flybench.report.findings.notes import notes
from flybench.report.findings.speed import speed
from flybench.report.run import Arm, Run
from flybench.text import number, percent


class Verdict(NamedTuple):
    """What one arm's data say."""

    title: str
    findings: list[Finding]
    notes: list[str]


def verdicts(run: Run) -> list[Verdict]:
    """One verdict for each method that was compared; one for AR if it ran alone."""
    return [Verdict(arm.name, _findings(run, arm), notes(run, arm)) for arm in run.shown]


def _findings(run: Run, arm: Arm) -> list[Finding]:
    if not arm.row["n"]:
        text = f"No sample of {arm.method} finished, so nothing was measured."
        return [Finding("bad", "no result", text)]
    if arm.method == "ar":
        return [_baseline(arm)]
    return [speed(run, arm), accuracy(run, arm)]


def _baseline(arm: Arm) -> Finding:
    row = arm.row
    text = (
        f"Only plain decoding (AR) ran, at {number(row['tokens_per_second'], 1)} tokens/s over "
        f"{count(row['n'], 'sample')}: there is no method to compare it with. "
    )
    if not row["n_scored"]:
        return Finding("open", "baseline only", f"{text}No answer was scored.")
    ends = " to ".join(percent(end) for end in row["accuracy_ci"])
    scored = count(row["n_scored"], "scored answer")
    what = "mean grade, as a share of the best," if arm.graded else "accuracy"
    text += f"Its {what} is {percent(row['accuracy'])} ({INTERVAL} {ends}) over {scored}."
    return Finding("open", "baseline only", text)
