"""The tokens that only a loose rule kept: by class, and those that precede a flip.

Of the latter, harmful ones precede a wrong fact which AR had right, the others a right one that AR
had wrong.
"""

from __future__ import annotations

import numpy as np

from flybench.core.token_classes import CLASSES
from flybench.metrics.frames import ClassifiedToken
from flybench.report.group import Group
from flybench.report.run import Arm, Run
from flybench.report.tables.table import Column, Table, TableCell, cell
from flybench.text import number

FIGURES = (
    *("loose_improbable", "loose_opening", "loose_flips", "loose_harmful"),
    *("exact_match_rate", "first_divergence_median", "length_ratio"),
)


def table(group: Group) -> Table | None:
    """Loose tokens of every method that has any, classes as columns; None if none has."""
    arms = [arm for arm in group.compared if arm.row.loose_per_1000]
    classes = {arm: arm.row.loose_classes or {} for arm in arms}
    seen = [name for name in CLASSES if any(found.get(name) for found in classes.values())]
    columns = [
        Column("method", numeric=False),
        Column.of("loose_per_1000"),
        *(Column(name, "per 1000") for name in seen),
        *map(Column.of, FIGURES),
    ]
    rows = [
        [
            TableCell(group.names[arm]),
            cell(arm.row, "loose_per_1000"),
            *(TableCell(number(classes[arm].get(name), 2)) for name in seen),
            *(cell(arm.row, name) for name in FIGURES),
        ]
        for arm in arms
    ]
    caption = f"{group.title}: loose tokens, in all and by class, and what followed"
    return Table(caption, columns, rows) if rows else None


def before_lost_facts(run: Run, arm: Arm) -> Table | None:
    """One row a token, in the order of the answers; None if there is none."""
    return _before_facts(run, arm, -1, "AR")


def before_won_facts(run: Run, arm: Arm) -> Table | None:
    """The same of facts that AR had wrong."""
    return _before_facts(run, arm, 1, "the method")


def _before_facts(run: Run, arm: Arm, sign: int, right: str) -> Table | None:
    if arm.row.loose_flips is None:  # grades are no right or wrong
        return None
    pairs = run.pair(arm).table
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
        _token(str(sample), each)
        for sample, found in flipped["before_fact"].items()
        for each in found
    ]
    title = f"{arm.label}: loose tokens before a fact that only {right} got right"
    return Table(title, columns, rows) if rows else None


def _token(sample: str, each: ClassifiedToken) -> list[TableCell]:
    token, statistics = each.token, each.token.statistics
    return [
        TableCell(sample),
        *(TableCell(f"“{text}”", kind="message") for text in (token.text, token.top1_text)),
        TableCell(each.kind),
        TableCell(number(token.index, 0)),
        *(
            TableCell(number(p, 1, 100))
            for p in (statistics.probability, statistics.max_probability)
        ),
        TableCell(number(statistics.rank, 0)),
        TableCell(number(statistics.entropy)),
    ]
