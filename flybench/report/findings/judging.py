"""What a judging model found: its figures as a table, and its verdict in plain words."""

from __future__ import annotations

from flybench.core.judgements import HIGHEST
from flybench.metrics.judge import PairwiseCounts
from flybench.report.findings.finding import INTERVAL, OPEN, TOO_SMALL, Finding
from flybench.report.group import Group
from flybench.report.run import Arm, Run
from flybench.report.tables.table import Cell, Column, Table, cell
from flybench.text import number, percent

FIGURES = (
    *("judge", "accuracy", "pairwise", "win_rate", "judge_inconsistent", "judge_asked"),
    *("judge_unparseable", "judge_failed", "judge_tokens_in", "judge_tokens_out", "judge_cost"),
)


def judging(group: Group) -> Table | None:
    """One row a method that a model judged; None if none was."""
    arms = [arm for arm in group.arms if arm.graded]
    columns = [Column("method", numeric=False), *(Column.of(name) for name in FIGURES)]
    rows = [[Cell(group.names[arm]), *(cell(arm.row, name) for name in FIGURES)] for arm in arms]
    return (
        Table(f"{group.title}: what the judge found, and what it took", columns, rows)
        if rows
        else None
    )


def grade(run: Run, arm: Arm) -> Finding:
    """Whether the method keeps AR's mean grade, and how the pairs came out."""
    answer, name, n = arm.row["retention_verdict"], arm.method, len(run.judged(arm))
    asked = f"the {percent(1 - run.margin)} that the margin asks for"
    text = {
        "kept": f"{name} keeps AR's grade: all of the interval is at or above {asked}.",
        "lost": f"{name} loses some of AR's grade: all of the interval is below {asked}.",
        OPEN: f"Whether {name} keeps AR's grade is not resolved: the interval spans {asked}.",
    }[answer]
    text = f"{_means(run, arm)} {text}{_comparison(arm)}"
    if n < TOO_SMALL:
        text += f" n = {n} is too small for a claim about grades."
    return Finding.of(f"grade {answer}", text, n)


def _means(run: Run, arm: Arm) -> str:
    """Mean grades of the method and AR over the pairs that have both, without a conclusion."""
    pairs, row = run.judged(arm), arm.row
    before, after = (HIGHEST * pairs[name].mean() for name in ("correct_ar", "correct"))
    ends = " to ".join(percent(end) for end in row["retention_ci"] or []) or "none"
    return (
        f"{row['judge']} grades its answers {number(after)} of {HIGHEST:g} on average against "
        f"{number(before)} for AR, retention {percent(row['retention'])} ({INTERVAL} "
        f"{ends})."
    )


def _comparison(arm: Arm) -> str:
    """How the pairs came out; empty without any."""
    row = arm.row
    if row["pairwise"] is None:
        return ""
    found = PairwiseCounts(*row["pairwise"])
    low, high = (percent(end) for end in row["win_rate_ci"])
    text = (
        f" Of {sum(found)} compared pairs the judge prefers {arm.method} in {found.wins}, AR in "
        f"{found.losses} and neither in {found.ties}: win rate {percent(row['win_rate'])} "
        f"({INTERVAL} {low} to {high})."
    )
    swayed = row["judge_inconsistent"]
    return (
        f"{text} In {swayed} its verdict hung on the order, and counts as a tie."
        if swayed
        else text
    )


def caveat(arm: Arm) -> str:
    """What is missing from the judge's verdicts; empty if nothing is."""
    row = arm.row
    if not arm.graded or not (row["judge_unparseable"] or row["judge_failed"]):
        return ""
    failed = f", and {row['judge_failed']} calls failed" if row["judge_failed"] else ""
    return (
        f"{row['judge_unparseable']} of the judge's {row['judge_asked']} replies hold no readable "
        f"verdict{failed}: they are left out, and nothing is guessed."
    )
