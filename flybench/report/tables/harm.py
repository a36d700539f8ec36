"""Loose tokens that precede a flip: harmful ones, before a wrong fact which AR had right, and those
before a right one that AR had wrong."""

from __future__ import annotations

import numpy as np

from flybench.metrics.frames import ClassifiedToken
from flybench.report.run import Arm, Run
from flybench.report.tables.table import Cell, Column, Table
from flybench.text import number


def before_lost_facts(run: Run, arm: Arm) -> Table | None:
    """One row a token, in the order of the answers; None if there is none."""
    return _table(run, arm, -1, "AR")


def before_won_facts(run: Run, arm: Arm) -> Table | None:
    """The same of facts that AR had wrong."""
    return _table(run, arm, 1, "the method")


def _table(run: Run, arm: Arm, sign: int, right: str) -> Table | None:
    if arm.row["loose_flips"] is None:  # grades are no right or wrong
        return None
    pairs = run.paired(arm)
    flipped = pairs[np.sign(pairs["correct"] - pairs["correct_ar"]) == sign]
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
    rows = [
        _row(str(sample), each)
        for sample, found in flipped["before_fact"].items()
        for each in found
    ]
    title = f"{arm.label}: loose tokens before a fact that only {right} got right"
    return Table(title, columns, rows) if rows else None


def _row(sample: str, each: ClassifiedToken) -> list[Cell]:
    token, statistics = each.token, each.token.statistics
    return [
        Cell(sample),
        *(Cell(f"“{text}”", kind="message") for text in (token.text, token.top1_text)),
        Cell(each.kind),
        Cell(number(token.index, 0)),
        *(Cell(number(p, 1, 100)) for p in (statistics.probability, statistics.max_probability)),
        Cell(number(statistics.rank, 0)),
        Cell(number(statistics.entropy)),
    ]
