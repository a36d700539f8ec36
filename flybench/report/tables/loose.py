"""What speed cost in words: the tokens that only a loose rule kept, by class, and what they did."""

from __future__ import annotations

from flybench.core.token_classes import CLASSES
from flybench.report.group import Group
from flybench.report.tables.table import Cell, Column, Table, cell
from flybench.text import number

FIGURES = (
    *("loose_improbable", "loose_opening", "loose_flips", "loose_harmful"),
    *("exact_match_rate", "first_divergence_median", "length_ratio"),
)


def table(group: Group) -> Table | None:
    """Loose tokens of every method that has any, classes as columns; None if none has."""
    arms = [arm for arm in group.compared if arm.row["loose_per_1000"]]
    classes = {arm: arm.row["loose_classes"] or {} for arm in arms}
    seen = [name for name in CLASSES if any(found.get(name) for found in classes.values())]
    columns = [
        Column("method", numeric=False),
        Column.of("loose_per_1000"),
        *(Column(name, "per 1000") for name in seen),
        *map(Column.of, FIGURES),
    ]
    rows = [
        [
            Cell(group.names[arm]),
            cell(arm.row, "loose_per_1000"),
            *(Cell(number(classes[arm].get(name), 2)) for name in seen),
            *(cell(arm.row, name) for name in FIGURES),
        ]
        for arm in arms
    ]
    caption = f"{group.title}: loose tokens, in all and by class, and what followed"
    return Table(caption, columns, rows) if rows else None
