"""Verdict on accuracy, from the interval of retention and the corrected McNemar test."""

from __future__ import annotations

from flybench.metrics.stats import Pairs, samples_needed
from flybench.metrics.suppression import MIN_VERDICT_SAMPLES, POWER, SIGNIFICANCE
from flybench.report.findings.badge import OPEN, VerdictBadge
from flybench.report.findings.judging import grade
from flybench.report.run import Arm, Run
from flybench.text import percent


def accuracy(run: Run, arm: Arm) -> VerdictBadge:
    """Return the verdict on accuracy from the judged pairs of the arm and AR."""
    row, pairs = arm.row, run.pair(arm).judged
    n, answer = len(pairs), row.retention_verdict or OPEN
    if not n:
        unjudged = run.provenance.get("judged") == "unjudged"
        cause = "This task has no scoring rule" if unjudged else "No pair was scored"
        return VerdictBadge("open", "accuracy unknown", f"{cause}, so accuracy is unknown.")
    if arm.graded:
        return grade(run, arm)
    right = f"{pairs['correct'].sum():g}/{n} right against {pairs['correct_ar'].sum():g}/{n} for AR"
    facts = f"{right}, {_retention(arm)}, {_discordant(arm)}."
    text = _answer(run, arm, facts, n)
    if n < MIN_VERDICT_SAMPLES:
        text += f" n = {n} is too small for a conclusion about accuracy."
    elif answer == OPEN and row.retention is not None and row.pairs is not None:
        needed = samples_needed(row.pairs, run.margin, POWER)
        text += (
            f" If no accuracy is lost, about {needed:,} samples would be needed to show this "
            f"with {100 * POWER:g} % power."
        )
    if answer == "lost" and arm.holm is not None and arm.holm.p >= SIGNIFICANCE:
        text += (
            f" After correction for the {arm.holm.tests} tests in this report, the loss is not "
            "significant."
        )
    if row.exact_match_rate == 1 and not row.n_error:  # needs no statistics
        return VerdictBadge(
            "good", "same answers", f"Every answer equals AR's, token for token. {text}"
        )
    return VerdictBadge.of(f"accuracy {answer}", text, n)


def _answer(run: Run, arm: Arm, facts: str, n: int) -> str:
    if arm.row.retention is None:
        solved = f"only {_solved(arm)}" if _solved(arm) else "none"
        return f"AR solved {solved} of the scored samples, too few for a ratio: {facts}"
    required = f"the required {percent(1 - run.margin)}"
    return {
        "kept": f"{arm.method} retains AR's accuracy: {facts} The whole interval is at or above "
        f"{required}.",
        "lost": f"{arm.method} loses accuracy: {facts} The whole interval is below {required}.",
        OPEN: f"Whether {arm.method} retains AR's accuracy is not resolved at n = {n}: {facts} The "
        f"interval spans {required}.",
    }[arm.row.retention_verdict or OPEN]


def _retention(arm: Arm) -> str:
    if arm.row.retention is not None:
        return f"retention {arm.row.estimate('retention').in_words('%')}"
    if _solved(arm):
        return f"retention suppressed because AR solved too few (n={_solved(arm)})"
    return "retention undefined because AR solved none"


def _discordant(arm: Arm) -> str:
    """Format the lost and won pairs with McNemar's p, corrected if the report has several tests."""
    counts = arm.row.pairs or Pairs(0, 0, 0, 0)
    p = _probability(counts.p)
    if arm.holm is not None:
        corrected, tests = _probability(arm.holm.p), arm.holm.tests
        p = f"{corrected} after Holm's correction for {tests} tests, uncorrected p {p}"
    return f"{counts.lost} lost and {counts.won} won (McNemar p {p})"


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _solved(arm: Arm) -> int:
    return arm.row.pairs.solved if arm.row.pairs else 0
