"""Harmful acceptance: loose tokens that precede a wrong fact which AR had right."""

from __future__ import annotations

from flybench.core import Loosened
from flybench.report.run import Arm, Run
from flybench.report.tables import Cell, Column, Table
from flybench.report.text import number


def table(run: Run, arm: Arm) -> Table | None:
    """One row a token, in the order of the answers; None if there is none."""
    if not arm.row["loose_harmful"]:
        return None
    columns = [
        Column("sample", numeric=False),
        Column("kept", numeric=False, title="the loose token"),
        Column("the target preferred", numeric=False),
        Column("class", numeric=False),
        Column("place", "token", "in the answer, from 0"),
        Column("probability", "%", "that the target gave the token"),
        Column("of the favourite", "%"),
        Column("rank", "", "1 = the favourite"),
        Column("entropy", "nats"),
    ]
    pairs = run.paired(arm)
    lost = pairs[pairs["correct"] < pairs["correct_ar"]]
    rows = [
        _row(str(sample), token) for sample, found in lost["before_fact"].items() for token in found
    ]
    return Table(f"{arm.label}: loose tokens before a fact that only AR got right", columns, rows)


def _row(sample: str, token: Loosened) -> list[Cell]:
    opinion = token.opinion
    return [
        Cell(sample),
        *(Cell(f"“{text}”", kind="message") for text in (token.text, token.preferred_text)),
        Cell(token.kind),
        Cell(number(token.place, 0)),
        *(Cell(number(p, 1, 100)) for p in (opinion.probability, opinion.max_probability)),
        Cell(number(opinion.rank, 0)),
        Cell(number(opinion.entropy)),
    ]
