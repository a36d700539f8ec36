"""Tables over every run: the headline, all figures, scoring rules, failures, and the glossary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flybench.few import COUNTED
from flybench.report.glossary import GLOSSARY
from flybench.report.run import Arm, Run
from flybench.report.text import NBSP, NONE, aligned, interval, number
from flybench.summary import PARTS, Row


class Cell(NamedTuple):
    """A cell's text, a smaller note beneath it, and a kind for its colour."""

    text: str
    note: str = ""
    kind: str = ""
    title: str = ""


@dataclass(frozen=True)
class Column:
    """A column's header; `title` explains it."""

    label: str
    unit: str = ""
    title: str = ""
    numeric: bool = True

    @classmethod
    def of(cls, name: str) -> Column:
        """The header of a figure in the glossary."""
        entry = GLOSSARY[name]
        return cls(entry.label, entry.unit, entry.meaning, name not in TEXTUAL)


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns; the first cell of a row is its header."""

    caption: str
    columns: list[Column]
    rows: list[list[Cell]]


TEXTUAL = ("model", "task", "method", "device", "engine", "retention_verdict", "regime", "judge")
HEADLINE = (
    *("method", "task", "model", "n", "accuracy", "retention", "retention_verdict", "pairs"),
    *("pairwise", "win_rate"),
    *("speedup_throughput", "speedup_latency", "tokens_per_second", "tau_pooled"),
    *("loose_per_1000", "length_ratio", "truncation_rate", "repetition_rate"),
)
# A rule's verdicts are counted by the first, a judging model's by the others.
COUNTS = ("pairs", "pairwise", "win_rate")
PAIRED = ("retention_verdict", "pairs", "mcnemar_p")
# Shown elsewhere: in a table of their own, or as the column's header.
NOT_ALONE = ("metrics", "model", "task", "method", "too_few")


def headline(runs: Sequence[Run]) -> Table:
    """One row a run and method, with the main figures; a task or model of all is in the caption."""
    arms = [arm.row for run in runs for arm in run.arms]
    alike = [name for name in ("task", "model") if len({row[name] for row in arms}) == 1]
    empty = [name for name in COUNTS if all(row[name] is None for row in arms)]
    names = [name for name in HEADLINE if name not in (*alike, *empty)]
    rows = []
    for run in runs:
        for arm in run.arms:
            head = Cell(arm.method, run.name if len(runs) > 1 else "")
            rows.append([head, *(cell(arm.row, name) for name in names[1:])])
    place = "".join(f"{arms[0][name]}, " for name in alike)
    caption = f"{place}main figures, one row a run and method; 95\u00a0% intervals in brackets"
    return Table(caption, [Column.of(name) for name in names], rows)


def everything(runs: Sequence[Run]) -> Table:
    """Every figure of the summary: one row a figure, one column a run and method."""
    arms = _arms(runs)
    names = [name for name in (arms[0].row if arms else {}) if not _beside(name)]
    rows = []
    for name in names:
        entry = GLOSSARY[name]
        unit = f" ({entry.unit})" if entry.unit else ""
        head = Cell(f"{entry.label}{unit}", title=entry.meaning)
        rows.append([head, *(cell(arm.row, name) for arm in arms)])
    return Table("Every figure", [Column("figure", numeric=False), *_per_arm(arms)], rows)


def rules(runs: Sequence[Run]) -> Table | None:
    """Mean verdict of every scoring rule; None if nothing was scored."""
    arms = _arms(runs)
    names = sorted({rule for arm in arms for rule in arm.row["metrics"]})
    if not names:
        return None
    rows = [
        [Cell(rule), *(Cell(number(arm.row["metrics"].get(rule), 1, 100)) for arm in arms)]
        for rule in names
    ]
    columns = [Column("scoring rule", numeric=False), *_per_arm(arms, "%")]
    return Table("Mean verdict of each scoring rule", columns, rows)


def failures(runs: Sequence[Run]) -> Table | None:
    """Samples that failed, with their message; None if there are none."""
    rows = [
        [Cell(record.sample_id), Cell(arm.label), Cell(record.error or "", kind="message")]
        for arm in _arms(runs)
        for record in arm.failed
    ]
    columns = [Column(label, numeric=False) for label in ("sample", "run", "message")]
    return Table("Samples that failed", columns, rows) if rows else None


def glossary() -> Table:
    """Every figure with its unit and formula."""
    columns = [Column(label, numeric=False) for label in ("figure", "name", "unit", "meaning")]
    rows = [
        [Cell(entry.label), Cell(name, kind="name"), Cell(entry.unit), Cell(entry.meaning)]
        for name, entry in GLOSSARY.items()
    ]
    return Table("Figures and their formulas", columns, rows)


def cell(row: Row, name: str) -> Cell:
    """A figure of the summary as text, its interval as a note."""
    value, entry = row[name], GLOSSARY[name]
    if name in row["too_few"]:
        text, what = f"too few (n={row['too_few'][name]})", f"of {COUNTED[name]}"
        return Cell(text, kind="words", title=what)
    if name in PAIRED and row["pairs"] is None:
        return Cell(NONE)  # no pair was judged, so there is nothing to resolve
    if name in PARTS:
        return Cell(" / ".join(str(count) for count in value) if value else NONE)
    if name == "loose_classes":
        classes = (f"{kind} {number(rate, 2)}" for kind, rate in (value or {}).items())
        return Cell(", ".join(classes) or NONE)
    if name == "ms_per_round":
        return Cell(" + ".join(f"{part} {number(ms, 1)}" for part, ms in value.items()) or NONE)
    if isinstance(value, str):
        return Cell(value)
    text = number(value, entry.digits, entry.scale)
    note = interval(row.get(f"{name}_ci"), entry.digits, entry.scale)
    ends = row.get(f"{name}_ci")
    slower = name.startswith("speedup_") and ends is not None and ends[1] < 1
    return Cell(text, f"slower {note}", "slower") if slower else Cell(text, note)


def plain(table: Table) -> str:
    """A table as aligned text for a terminal, its caption first."""
    head = [one.label + (f" ({one.unit})" if one.unit else "") for one in table.columns]
    rows = [[" ".join(filter(None, (one.text, one.note))) for one in row] for row in table.rows]
    return f"{table.caption}\n{aligned([head, *rows])}".replace(NBSP, " ")


def _arms(runs: Sequence[Run]) -> list[Arm]:
    return [arm for run in runs for arm in run.arms]


def _per_arm(arms: Sequence[Arm], unit: str = "") -> Iterator[Column]:
    return (Column(arm.label, unit) for arm in arms)


def _beside(name: str) -> bool:
    return name in NOT_ALONE or name.endswith("_ci")
