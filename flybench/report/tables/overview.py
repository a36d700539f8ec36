"""Tables over the methods of one task: headline, accuracy, all metrics, scoring rules, failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flybench.metrics.glossary import GLOSSARY
from flybench.metrics.method_summary import MethodSummary
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
# Counts of scored pairs, and of pairs compared by a judge model.
COUNTS = ("pairs", "pairwise", "win_rate")
# Shown in a separate table or in the column headers.
SHOWN_ELSEWHERE = ("metrics", "model", "task", "method", "too_few")


def headline(group: Group, verdicts: Mapping[Arm, ArmVerdict]) -> Table:
    """Return the verdict and main metrics of each method, AR first, without empty counts."""
    arms = group.arms
    empty = [name for name in COUNTS if all(arm.row[name] is None for arm in arms)]
    names = [name for name in HEADLINE if name not in empty]
    rows = [
        [
            TableCell(group.names[arm]),
            _verdict(arm, verdicts.get(arm)),
            *(cell(arm.row, name) for name in names),
        ]
        for arm in arms
    ]
    columns = [Column("method", numeric=False), Column("verdict", numeric=False)]
    counts = sorted({arm.row.n for arm in arms})
    samples = " to ".join(f"{n:,}" for n in dict.fromkeys((counts[0], counts[-1]))) if counts else 0
    caption = f"{group.title}: {samples} samples per method; 95\u00a0% intervals in brackets"
    return Table(caption, [*columns, *map(Column.of, names)], rows)


def accuracy(group: Group) -> Table:
    """Return all metrics of accuracy, one row per method, AR first."""
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
    """Return all metrics of the summary, one row per metric and one column per method."""
    arms = group.arms
    names = [name for name in MethodSummary.__struct_fields__ if not _shown_elsewhere(name)]
    rows = []
    for name in names:
        entry = GLOSSARY[name]
        unit = f" ({entry.unit})" if entry.unit else ""
        head = TableCell(f"{entry.label}{unit}", title=entry.meaning)
        rows.append([head, *(cell(arm.row, name) for arm in arms)])
    columns = [Column("metric", numeric=False), *_per_arm(group)]
    return Table(f"{group.title}: all metrics", columns, rows)


def rules(group: Group) -> Table | None:
    """Return the mean score of every scoring rule; None if nothing was scored."""
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
    return Table(f"{group.title}: mean score of each scoring rule", columns, rows)


def failures(runs: Sequence[Run]) -> Table | None:
    """Return the samples that failed, with their messages; None without any."""
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
    """Return all metrics with their units and formulas."""
    columns = [Column(label, numeric=False) for label in ("metric", "name", "unit", "meaning")]
    rows = [
        [
            TableCell(entry.label),
            TableCell(name, kind="name"),
            TableCell(entry.unit),
            TableCell(entry.meaning),
        ]
        for name, entry in GLOSSARY.items()
    ]
    return Table("Metrics and their formulas", columns, rows)


def _verdict(arm: Arm, verdict: ArmVerdict | None) -> TableCell:
    """Return both badges as one cell, in the colour of the worse one."""
    if verdict is None:
        return TableCell("baseline", kind="words")
    speed, *accuracy = verdict.findings
    if arm.row.exact_match_rate == 1:  # needs no statistics
        return TableCell(speed.badge, "all answers equal AR's", speed.kind)
    kinds = [finding.kind for finding in verdict.findings]
    kind = next(kind for kind in ("bad", "open", "good") if kind in kinds)
    return TableCell(speed.badge, ", ".join(finding.badge for finding in accuracy), kind)


def _per_arm(group: Group, unit: str = "") -> Iterator[Column]:
    return (Column(group.names[arm], unit) for arm in group.arms)


def _shown_elsewhere(name: str) -> bool:
    return name in SHOWN_ELSEWHERE or name.endswith("_ci")
