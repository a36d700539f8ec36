"""The verdict in plain words: is the method faster, and does it keep the accuracy?

A small sample, or an interval that contains the value asked about, is said to settle nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from flybench.report.accuracy import accuracy
from flybench.report.finding import INTERVAL, Finding, count
from flybench.report.notes import notes
from flybench.report.run import Arm, Run
from flybench.report.speed import speed
from flybench.report.tables import Cell, cell
from flybench.report.text import number, percent
from flybench.summary import Row

NUMBERS = ("speedup_throughput", "speedup_latency", "retention")
BASELINE_NUMBERS = ("tokens_per_second", "accuracy")


class Verdict(NamedTuple):
    """What one arm's data say; `numbers` names the figures to show large."""

    title: str
    numbers: dict[str, Cell]
    findings: list[Finding]
    notes: list[str]


def verdicts(run: Run) -> list[Verdict]:
    """One verdict for each method that was compared; one for AR if it ran alone."""
    return [
        Verdict(arm.label, _numbers(arm), _findings(run, arm), notes(run, arm)) for arm in run.shown
    ]


def _numbers(arm: Arm) -> dict[str, Cell]:
    names = BASELINE_NUMBERS if arm.method == "ar" else NUMBERS
    return {name: cell(arm.row, name) for name in names if _known(arm.row, name)}


def _known(row: Row, name: str) -> bool:
    return row[name] is not None or name in row["too_few"]


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
