"""Tables over several runs: spread over seeds, and accuracy tests corrected as one family.

Every method of every run has a McNemar test against the AR of its run. The chance that some test is
significant grows with their number; Holm's correction bounds it at 5 % over all tests. Speed-ups
have intervals instead of p-values and are not corrected.
"""

from __future__ import annotations

from collections.abc import Sequence

from flybench.metrics.glossary import GLOSSARY
from flybench.metrics.seeds import SeedSpread, across
from flybench.metrics.suppression import SIGNIFICANCE
from flybench.report.run import Arm, Corrected, Run
from flybench.report.tables.table import Column, Table, TableCell, cell
from flybench.text import interval, number

LABELS = {"accuracy_ar": "AR's accuracy (%)"}


def groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Group runs that differ only in their seed; runs without a recorded family are skipped."""
    families: dict[str, dict[int, Run]] = {}
    for run in runs:
        if family := run.provenance.get("family"):
            families.setdefault(family, {})[run.provenance["seed"]] = run
    return [list(seeds.values()) for seeds in families.values() if len(seeds) > 1]


def tables(runs: Sequence[Run]) -> list[Table]:
    """Return the spread over seeds of every metric, one table per family with temperature > 0."""
    return [table for group in groups(runs) if not _greedy(group) for table in _tables(group)]


def notes(runs: Sequence[Run]) -> list[str]:
    """Return a note on each family that decodes greedily."""
    return [
        f"{_seeds(group)} of {group[0].title} decode greedily, so the seed has no effect: they "
        "are repeats of the same run, and no between-seed spread is reported."
        for group in groups(runs)
        if _greedy(group)
    ]


def _tables(group: Sequence[Run]) -> list[Table]:
    columns = [
        Column("metric", numeric=False),
        Column("seeds"),
        Column("samples"),
        *(Column.of(name) for name in ("pooled", "between_seeds", "between_samples")),
    ]
    built = []
    for arm in group[0].compared:
        same = ((run, own) for run in group for own in run.compared if own.method == arm.method)
        pairs = [run.pair(own).table for run, own in same]
        rows = [_row(name, spread) for name, spread in across(pairs).items()]
        method = f"{arm.method} on {group[0].title}"
        caption = f"Across seeds: {method}. {_seeds(group)}; spread by seed and by sample"
        built += [Table(caption, columns, rows)] if rows and len(pairs) == len(group) else []
    return built


def _row(name: str, spread: SeedSpread) -> list[TableCell]:
    entry = GLOSSARY[name.removesuffix("_ar")]
    unit = f" ({entry.unit})" if entry.unit else ""
    return [
        TableCell(LABELS.get(name, f"{entry.label}{unit}")),
        TableCell(number(spread.seeds, 0)),
        TableCell(number(spread.samples, 0)),
        TableCell(
            number(spread.pooled, entry.digits, entry.scale),
            interval(spread.interval, entry.digits, entry.scale),
        ),
        *(
            TableCell(number(part, entry.digits + 1, entry.scale))
            for part in (spread.between_seeds, spread.between_samples)
        ),
    ]


def _seeds(group: Sequence[Run]) -> str:
    return f"Seeds {', '.join(str(run.provenance['seed']) for run in group)}"


def _greedy(group: Sequence[Run]) -> bool:
    return not (group[0].provenance.get("sampling") or {}).get("temperature")


def accuracy_tests(runs: Sequence[Run]) -> Table | None:
    """Return raw and corrected p-values per run and method; None for fewer than two tests."""
    tests = [(arm, arm.holm) for run in runs for arm in run.compared if arm.holm is not None]
    columns = [
        Column("method", numeric=False),
        *(Column.of(name) for name in ("pairs", "mcnemar_p", "holm_p")),
        Column("differs from AR", numeric=False, title=f"corrected p below {SIGNIFICANCE:g}"),
    ]
    caption = f"Accuracy with Holm's correction for {len(tests)} tests, one per run and method"
    return Table(caption, columns, [_test(*test) for test in tests]) if tests else None


def _test(arm: Arm, holm: Corrected) -> list[TableCell]:
    counts = arm.row.pairs
    worse = counts is not None and counts.lost > counts.won
    differs = "less accurate" if worse else "more accurate"
    return [
        TableCell(arm.label),
        *(cell(arm.row, name) for name in ("pairs", "mcnemar_p")),
        TableCell(number(holm.p, 3)),
        TableCell(differs if holm.p < SIGNIFICANCE else "not shown"),
    ]
