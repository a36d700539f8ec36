"""Results of a judge model: a table of its metrics, and the verdict on grades."""

from __future__ import annotations

from flybench.core.judgements import HIGHEST
from flybench.metrics.suppression import MIN_VERDICT_SAMPLES
from flybench.report.findings.badge import OPEN, VerdictBadge
from flybench.report.group import Group
from flybench.report.run import Arm, Run
from flybench.report.tables.table import Column, Table, TableCell, cell
from flybench.text import number, percent

FIGURES = (
    *("judge", "accuracy", "pairwise", "win_rate", "judge_inconsistent", "judge_asked"),
    *("judge_unparseable", "judge_failed", "judge_tokens_in", "judge_tokens_out", "judge_cost"),
)


def judging(group: Group) -> Table | None:
    """Return a table with one row per method that a model judged; None without any."""
    arms = [arm for arm in group.arms if arm.graded]
    columns = [Column("method", numeric=False), *(Column.of(name) for name in FIGURES)]
    rows = [
        [TableCell(group.names[arm]), *(cell(arm.row, name) for name in FIGURES)] for arm in arms
    ]
    return Table(f"{group.title}: results and cost of the judge", columns, rows) if rows else None


def grade(run: Run, arm: Arm) -> VerdictBadge:
    """Return the verdict on the mean grade, with the results of the pairwise comparison."""
    answer, name, n = arm.row.retention_verdict or OPEN, arm.method, len(run.pair(arm).judged)
    required = f"the required {percent(1 - run.margin)}"
    text = {
        "kept": f"{name} retains AR's grade: the whole interval is at or above {required}.",
        "lost": f"{name} is graded lower than AR: the whole interval is below {required}.",
        OPEN: f"Whether {name} keeps AR's grade is not resolved: the interval spans {required}.",
    }[answer]
    text = f"{_means(run, arm)} {text}{_comparison(arm)}"
    if n < MIN_VERDICT_SAMPLES:
        text += f" n = {n} is too small for a conclusion about grades."
    return VerdictBadge.of(f"grade {answer}", text, n)


def _means(run: Run, arm: Arm) -> str:
    """Mean grades of the method and AR over judged pairs, with the retention."""
    pairs, row = run.pair(arm).judged, arm.row
    before, after = (HIGHEST * pairs[name].mean() for name in ("correct_ar", "correct"))
    kept = row.estimate("retention").in_words("%")
    return (
        f"{row.judge} grades its answers {number(after)} out of {HIGHEST:g} on average, versus "
        f"{number(before)} for AR, retention {kept}."
    )


def _comparison(arm: Arm) -> str:
    """Results of the pairwise comparison; empty without compared pairs."""
    row = arm.row
    if row.pairwise is None:
        return ""
    pairs = row.pairwise
    text = (
        f" Of {sum(pairs)} compared pairs the judge prefers {arm.method} in {pairs.wins}, AR in "
        f"{pairs.losses} and neither in {pairs.ties}: win rate "
        f"{row.estimate('win_rate').in_words('%')}."
    )
    swayed = row.judge_inconsistent
    return (
        f"{text} In {swayed} its verdict depends on the order; these count as ties."
        if swayed
        else text
    )


def caveat(arm: Arm) -> str:
    """Describe unreadable and failed judgements; empty without any."""
    row = arm.row
    if not arm.graded or not (row.judge_unparseable or row.judge_failed):
        return ""
    failed = f", and {row.judge_failed} calls failed" if row.judge_failed else ""
    return (
        f"{row.judge_unparseable} of the judge's {row.judge_asked} replies have no readable "
        f"verdict{failed}: they are excluded."
    )
