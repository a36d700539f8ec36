"""Runs of one report that differ in their seed alone, put together."""

from __future__ import annotations

from collections.abc import Sequence

from flybench.metrics.glossary import GLOSSARY
from flybench.metrics.seeds import Spread, across
from flybench.report.run import Run
from flybench.report.tables.table import Cell, Column, Table
from flybench.text import interval, number

LABELS = {"accuracy_ar": "AR's accuracy (%)"}


def groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs of one family with different seeds; older runs do not say of which family they are."""
    found: dict[str, dict[int, Run]] = {}
    for run in runs:
        if family := run.provenance.get("family"):
            found.setdefault(family, {})[run.provenance["seed"]] = run
    return [list(seeds.values()) for seeds in found.values() if len(seeds) > 1]


def tables(runs: Sequence[Run]) -> list[Table]:
    """One table a family of runs that draw their tokens: every figure with both its scatters."""
    return [table for group in groups(runs) if not _greedy(group) for table in _tables(group)]


def notes(runs: Sequence[Run]) -> list[str]:
    """A sentence on each family whose seeds change nothing."""
    return [
        f"{_seeds(group)} of {group[0].title} decode greedily, so that the seed changes nothing: "
        "they are one run repeated, and no scatter between seeds is given."
        for group in groups(runs)
        if _greedy(group)
    ]


def _tables(group: Sequence[Run]) -> list[Table]:
    columns = [
        Column("figure", numeric=False),
        Column("seeds"),
        Column("samples"),
        *(Column.of(name) for name in ("pooled", "between_seeds", "between_samples")),
    ]
    found = []
    for arm in group[0].compared:
        alike = ((run, own) for run in group for own in run.compared if own.method == arm.method)
        pairs = [run.paired(own) for run, own in alike]
        rows = [_row(name, spread) for name, spread in across(pairs).items()]
        method = f"{arm.method} on {group[0].title}"
        caption = f"Across seeds: {method}. {_seeds(group)}; one run's scatter by its two causes"
        found += [Table(caption, columns, rows)] if rows and len(pairs) == len(group) else []
    return found


def _row(name: str, spread: Spread) -> list[Cell]:
    entry = GLOSSARY[name.removesuffix("_ar")]
    unit = f" ({entry.unit})" if entry.unit else ""
    return [
        Cell(LABELS.get(name, f"{entry.label}{unit}")),
        Cell(number(spread.seeds, 0)),
        Cell(number(spread.samples, 0)),
        Cell(
            number(spread.pooled, entry.digits, entry.scale),
            interval(spread.interval, entry.digits, entry.scale),
        ),
        *(
            Cell(number(part, entry.digits + 1, entry.scale))
            for part in (spread.between_seeds, spread.between_samples)
        ),
    ]


def _seeds(group: Sequence[Run]) -> str:
    return f"Seeds {', '.join(str(run.provenance['seed']) for run in group)}"


def _greedy(group: Sequence[Run]) -> bool:
    return not (group[0].provenance.get("sampling") or {}).get("temperature")
