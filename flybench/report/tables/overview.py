"""Tables over the methods of one task: the headline, every figure, scoring rules; and failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flybench.metrics.glossary import GLOSSARY
from flybench.metrics.rows import MethodSummary
from flybench.report.findings.verdict import ArmVerdict
from flybench.report.group import Group
from flybench.report.run import Arm, Run
from flybench.report.tables.table import Column, Table, TableCell, cell
from flybench.text import number

HEADLINE = (
    *("speedup_latency", "speedup_throughput", "accuracy", "retention", "pairs"),
    *("pairwise", "win_rate", "tokens_per_second", "tau_pooled"),
    *("loose_per_1000", "length_ratio"),
)
ACCURACY = (
    *("n_scored", "n_right", "accuracy", "retention", "retention_verdict", "pairs", "mcnemar_p"),
    *("exact_match_rate", "truncation_rate", "repetition_rate"),
)
# A rule's verdicts are counted by the first, a judging model's by the others.
COUNTS = ("pairs", "pairwise", "win_rate")
# Shown elsewhere: in a table of their own, or as the column's header.
NOT_ALONE = ("metrics", "model", "task", "method", "too_few")


def headline(group: Group, told: Mapping[Arm, ArmVerdict]) -> Table:
    """One row a method with its verdict and main figures, AR first; counts of nothing left out."""
    arms = group.arms
    empty = [name for name in COUNTS if all(arm.row[name] is None for arm in arms)]
    names = [name for name in HEADLINE if name not in empty]
    rows = [
        [
            TableCell(group.names[arm]),
            _verdict(arm, told.get(arm)),
            *(cell(arm.row, name) for name in names),
        ]
        for arm in arms
    ]
    columns = [Column("method", numeric=False), Column("verdict", numeric=False)]
    counts = sorted({arm.row.n for arm in arms})
    samples = " to ".join(f"{n:,}" for n in dict.fromkeys((counts[0], counts[-1]))) if counts else 0
    caption = f"{group.title}: {samples} samples a method; 95\u00a0% intervals in brackets"
    return Table(caption, [*columns, *map(Column.of, names)], rows)


def accuracy(group: Group) -> Table:
    """All that is known of the answers' accuracy, one row a method, AR first."""
    rows = [
        [
            TableCell(group.names[arm]),
            *(cell(arm.row, name) for name in ACCURACY),
            TableCell(number(arm.holm.p if arm.holm else None, 3)),
        ]
        for arm in group.arms
    ]
    columns = [Column("method", numeric=False), *map(Column.of, (*ACCURACY, "holm_p"))]
    return Table(f"{group.title}: accuracy", columns, rows)


def everything(group: Group) -> Table:
    """Every figure of the summary: one row a figure, one column a method."""
    arms = group.arms
    names = [name for name in MethodSummary.__struct_fields__ if not _beside(name)]
    rows = []
    for name in names:
        entry = GLOSSARY[name]
        unit = f" ({entry.unit})" if entry.unit else ""
        head = TableCell(f"{entry.label}{unit}", title=entry.meaning)
        rows.append([head, *(cell(arm.row, name) for arm in arms)])
    columns = [Column("figure", numeric=False), *_per_arm(group)]
    return Table(f"{group.title}: every figure", columns, rows)


def rules(group: Group) -> Table | None:
    """Mean verdict of every scoring rule; None if nothing was scored."""
    names = sorted({rule for arm in group.arms for rule in arm.row.metrics})
    if not names:
        return None
    rows = [
        [
            TableCell(rule),
            *(TableCell(number(arm.row.metrics.get(rule), 1, 100)) for arm in group.arms),
        ]
        for rule in names
    ]
    columns = [Column("scoring rule", numeric=False), *_per_arm(group, "%")]
    return Table(f"{group.title}: mean verdict of each scoring rule", columns, rows)


def failures(runs: Sequence[Run]) -> Table | None:
    """Samples that failed, with their message; None if there are none."""
    rows = [
        [
            TableCell(record.sample_id),
            TableCell(arm.label),
            TableCell(record.error or "", kind="message"),
        ]
        for run in runs
        for arm in run.arms
        for record in arm.failed
    ]
    columns = [Column(label, numeric=False) for label in ("sample", "run", "message")]
    return Table("Samples that failed", columns, rows) if rows else None


def glossary() -> Table:
    """Every figure with its unit and formula."""
    columns = [Column(label, numeric=False) for label in ("figure", "name", "unit", "meaning")]
    rows = [
        [
            TableCell(entry.label),
            TableCell(name, kind="name"),
            TableCell(entry.unit),
            TableCell(entry.meaning),
        ]
        for name, entry in GLOSSARY.items()
    ]
    return Table("Figures and their formulas", columns, rows)


def _verdict(arm: Arm, verdict: ArmVerdict | None) -> TableCell:
    """Both answers in a few words, coloured by the worse of them."""
    if verdict is None:
        return TableCell("the baseline", kind="words")
    speed, *accuracy = verdict.findings
    if arm.row.exact_match_rate == 1:  # needs no statistics
        return TableCell(speed.badge, "every answer is AR's own", speed.kind)
    kinds = [finding.kind for finding in verdict.findings]
    kind = next(kind for kind in ("bad", "open", "good") if kind in kinds)
    return TableCell(speed.badge, ", ".join(finding.badge for finding in accuracy), kind)


def _per_arm(group: Group, unit: str = "") -> Iterator[Column]:
    return (Column(group.names[arm], unit) for arm in group.arms)


def _beside(name: str) -> bool:
    return name in NOT_ALONE or name.endswith("_ci")
