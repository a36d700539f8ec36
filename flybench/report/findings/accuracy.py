"""Does the method keep AR's accuracy? The interval answers; Holm's correction minds the family."""

from __future__ import annotations

from flybench.metrics.stats import Pairs, samples_needed
from flybench.metrics.suppression import FEWEST_SETTLING, POWER, SIGNIFICANCE
from flybench.report.findings.badge import OPEN, VerdictBadge
from flybench.report.findings.judging import grade
from flybench.report.run import Arm, Run
from flybench.text import percent


def accuracy(run: Run, arm: Arm) -> VerdictBadge:
    """What the judged pairs of the arm and AR say."""
    row, pairs = arm.row, run.pair(arm).judged
    n, answer = len(pairs), row.retention_verdict or OPEN
    if not n:
        judge = "Nothing judges this task"
        judge = judge if run.provenance.get("judged") == "unjudged" else "No pair was scored"
        return VerdictBadge(
            "open", "accuracy unknown", f"{judge}: the data say nothing of accuracy."
        )
    if arm.graded:
        return grade(run, arm)
    right = f"{pairs['correct'].sum():g}/{n} right against {pairs['correct_ar'].sum():g}/{n} for AR"
    facts = f"{right}, {_retention(arm)}, {_discordant(arm)}."
    text = _answer(run, arm, facts, n)
    if n < FEWEST_SETTLING:
        text += f" n = {n} is too small for a claim about accuracy."
    elif answer == OPEN and row.retention is not None and row.pairs is not None:
        needed = samples_needed(row.pairs, run.margin, POWER)
        text += f" If nothing is lost, about {needed:,} samples would tell four times in five."
    if answer == "lost" and arm.holm is not None and arm.holm.p >= SIGNIFICANCE:
        text += (
            f" Of the {arm.holm.tests} tests of this report one can look like that by chance: "
            "corrected for them, a loss is not shown."
        )
    if row.exact_match_rate == 1 and not row.n_error:  # needs no statistics
        return VerdictBadge(
            "good", "same answers", f"Every answer is AR's own, token for token. {text}"
        )
    return VerdictBadge.of(f"accuracy {answer}", text, n)


def _answer(run: Run, arm: Arm, facts: str, n: int) -> str:
    if arm.row.retention is None:
        solved = f"only {_solved(arm)}" if _solved(arm) else "none"
        return f"AR solved {solved} of the judged samples, too few for a ratio: {facts}"
    asked = f"the {percent(1 - run.margin)} that the margin asks for"
    return {
        "kept": f"{arm.method} keeps AR's accuracy: {facts} All of the interval is at or above "
        f"{asked}.",
        "lost": f"{arm.method} loses accuracy: {facts} All of the interval is below {asked}.",
        OPEN: f"Whether {arm.method} keeps AR's accuracy is not resolved: {facts} The interval "
        f"spans {asked}, so the data cannot tell at n = {n}.",
    }[arm.row.retention_verdict or OPEN]


def _retention(arm: Arm) -> str:
    if arm.row.retention is not None:
        return f"retention {arm.row.estimate('retention').words('%')}"
    if _solved(arm):
        return f"retention not given as AR solved too few (n={_solved(arm)})"
    return "retention undefined as AR solved none"


def _discordant(arm: Arm) -> str:
    """Lost and won, with McNemar's p, corrected where the report has a family of tests."""
    counts = arm.row.pairs or Pairs(0, 0, 0, 0)
    p = _probability(counts.p)
    if arm.holm is not None:
        corrected, tests = _probability(arm.holm.p), arm.holm.tests
        p = f"{corrected} after Holm's correction for {tests} tests, {p} raw"
    return f"{counts.lost} lost and {counts.won} won (McNemar p {p})"


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _solved(arm: Arm) -> int:
    return arm.row.pairs.solved if arm.row.pairs else 0
