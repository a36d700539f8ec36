"""Tables of loose tokens: rates by class, and the loose tokens before a flipped answer.

A flipped answer is one that only AR got right (lost) or only the method (won).
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
    """Return loose tokens by class, one row per method with any; None without loose tokens."""
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
    caption = f"{group.title}: loose tokens in total and by class, and their effect on answers"
    return Table(caption, columns, rows) if rows else None


def before_lost(run: Run, arm: Arm) -> Table | None:
    """Return the loose tokens before extracted answers that only AR got right; None without any."""
    return _before_flips(run, arm, -1, "AR")


def before_won(run: Run, arm: Arm) -> Table | None:
    """Return the loose tokens before extracted answers that only the method got right."""
    return _before_flips(run, arm, 1, "the method")


def _before_flips(run: Run, arm: Arm, sign: int, right: str) -> Table | None:
    if arm.row.loose_flips is None:  # grades are not right or wrong
        return None
    pairs = run.pair(arm).table
    flipped = pairs[np.sign(pairs["correct"] - pairs["correct_ar"]) == sign]
    columns = [
        Column("sample", numeric=False),
        Column("loose token", numeric=False),
        Column("target top-1", numeric=False),
        Column("class", numeric=False),
        Column("index", "token", "in the answer, 0-based"),
        Column("p(token)", "%", "probability of the loose token under the target"),
        Column("p(top-1)", "%", "probability of the target's top-1 token"),
        Column("rank", "", "rank of the loose token under the target; 1 = top-1"),
        Column("entropy", "nats"),
    ]
    rows = [
        _token(str(sample), each)
        for sample, tokens in flipped["before_extracted"].items()
        for each in tokens
    ]
    caption = f"{arm.label}: loose tokens before an extracted answer that only {right} got right"
    return Table(caption, columns, rows) if rows else None


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
