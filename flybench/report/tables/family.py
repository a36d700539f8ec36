"""The accuracy tests of a sweep, or of a report over several runs, as one family.

Every method of every run has a McNemar test against its own AR. The more there are, the sooner one
of them looks significant by chance; Holm's correction keeps that chance at 5 % for all together.
Speed-ups have intervals and no p-value, so that nothing of theirs is corrected.
"""

from __future__ import annotations

from collections.abc import Sequence

from flybench.metrics.stats import Pairs
from flybench.report.run import Arm, Corrected, Run
from flybench.report.tables.table import Cell, Column, Table, cell
from flybench.text import number

LEVEL = 0.05


def table(runs: Sequence[Run]) -> Table | None:
    """Raw and corrected p-values, one row a run and method; None for fewer than two tests."""
    tests = [(arm, arm.holm) for run in runs for arm in run.compared if arm.holm is not None]
    columns = [
        Column("method", numeric=False),
        *(Column.of(name) for name in ("pairs", "mcnemar_p", "holm_p")),
        Column("differs from AR", numeric=False, title=f"corrected p below {LEVEL:g}"),
    ]
    caption = f"Accuracy, corrected for a family of {len(tests)} tests (Holm): one a run and method"
    return Table(caption, columns, [_row(*test) for test in tests]) if tests else None


def _row(arm: Arm, holm: Corrected) -> list[Cell]:
    counts = Pairs(*arm.row["pairs"])
    differs = "less accurate" if counts.lost > counts.won else "more accurate"
    return [
        Cell(arm.label),
        *(cell(arm.row, name) for name in ("pairs", "mcnemar_p")),
        Cell(number(holm.p, 3)),
        Cell(differs if holm.p < LEVEL else "not shown"),
    ]
