"""What a judging model found: its figures as a table, and its verdict in plain words."""

from __future__ import annotations

from flybench.core.judgements import HIGHEST
from flybench.metrics.suppression import FEWEST_SETTLING
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
    """One row a method that a model judged; None if none was."""
    arms = [arm for arm in group.arms if arm.graded]
    columns = [Column("method", numeric=False), *(Column.of(name) for name in FIGURES)]
    rows = [
        [TableCell(group.names[arm]), *(cell(arm.row, name) for name in FIGURES)] for arm in arms
    ]
    return (
        Table(f"{group.title}: what the judge found, and what it took", columns, rows)
        if rows
        else None
    )


def grade(run: Run, arm: Arm) -> VerdictBadge:
    """Whether the method keeps AR's mean grade, and how the pairs came out."""
    answer, name, n = arm.row.retention_verdict or OPEN, arm.method, len(run.pair(arm).judged)
    asked = f"the {percent(1 - run.margin)} that the margin asks for"
    text = {
        "kept": f"{name} keeps AR's grade: all of the interval is at or above {asked}.",
        "lost": f"{name} loses some of AR's grade: all of the interval is below {asked}.",
        OPEN: f"Whether {name} keeps AR's grade is not resolved: the interval spans {asked}.",
    }[answer]
    text = f"{_means(run, arm)} {text}{_comparison(arm)}"
    if n < FEWEST_SETTLING:
        text += f" n = {n} is too small for a claim about grades."
    return VerdictBadge.of(f"grade {answer}", text, n)


def _means(run: Run, arm: Arm) -> str:
    """Mean grades of the method and AR over the pairs that have both, without a conclusion."""
    pairs, row = run.pair(arm).judged, arm.row
    before, after = (HIGHEST * pairs[name].mean() for name in ("correct_ar", "correct"))
    kept = row.estimate("retention").words("%")
    return (
        f"{row.judge} grades its answers {number(after)} of {HIGHEST:g} on average against "
        f"{number(before)} for AR, retention {kept}."
    )


def _comparison(arm: Arm) -> str:
    """How the pairs came out; empty without any."""
    row = arm.row
    if row.pairwise is None:
        return ""
    found = row.pairwise
    text = (
        f" Of {sum(found)} compared pairs the judge prefers {arm.method} in {found.wins}, AR in "
        f"{found.losses} and neither in {found.ties}: win rate "
        f"{row.estimate('win_rate').words('%')}."
    )
    swayed = row.judge_inconsistent
    return (
        f"{text} In {swayed} its verdict hung on the order, and counts as a tie."
        if swayed
        else text
    )


def caveat(arm: Arm) -> str:
    """What is missing from the judge's verdicts; empty if nothing is."""
    row = arm.row
    if not arm.graded or not (row.judge_unparseable or row.judge_failed):
        return ""
    failed = f", and {row.judge_failed} calls failed" if row.judge_failed else ""
    return (
        f"{row.judge_unparseable} of the judge's {row.judge_asked} replies hold no readable "
        f"verdict{failed}: they are left out, and nothing is guessed."
    )
