"""Table types, shared by HTML, markdown, LaTeX, CSV and the terminal, and cells of metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from flybench.metrics.glossary import GLOSSARY
from flybench.metrics.glossary.entry import Entry
from flybench.metrics.method_summary import MethodSummary
from flybench.metrics.stats import Interval
from flybench.metrics.summary import PARTS
from flybench.metrics.suppression import DENOMINATORS
from flybench.text import NBSP, NONE, aligned, interval, number


class TableCell(NamedTuple):
    """A cell with a main text, a smaller note below it, and a `kind` that sets its colour.

    `ends` are the ends of the interval, which the note shows too.
    """

    text: str
    note: str = ""
    kind: str = ""
    title: str = ""
    ends: tuple[str, str] | None = None


@dataclass(frozen=True)
class Column:
    """A column's header; `title` explains it."""

    label: str
    unit: str = ""
    title: str = ""
    numeric: bool = True

    @classmethod
    def of(cls, name: str) -> Column:
        """Return the header of a metric in the glossary."""
        entry = GLOSSARY[name]
        return cls(entry.label, entry.unit, entry.meaning, name not in TEXTUAL)


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns; the first cell of a row is its header."""

    caption: str
    columns: list[Column]
    rows: list[list[TableCell]]


TEXTUAL = ("model", "task", "method", "device", "engine", "retention_verdict", "regime", "judge")
PAIRED = ("retention_verdict", "pairs", "mcnemar_p")


def cell(row: MethodSummary, name: str) -> TableCell:
    """Return a metric of the summary as a cell, with its interval as a note."""
    value, entry = row[name], GLOSSARY[name]
    if name in row.too_few:
        text, unit = f"too few (n={row.too_few[name]})", f"too few {DENOMINATORS[name]}"
        return TableCell(text, kind="words", title=unit)
    if name in PAIRED and row.pairs is None:
        return TableCell(NONE)  # no pair was judged, so there is nothing to resolve
    if name in PARTS:
        return TableCell(" / ".join(str(count) for count in value) if value else NONE)
    if name == "loose_classes":
        classes = (f"{kind} {number(rate, 2)}" for kind, rate in (value or {}).items())
        return TableCell(", ".join(classes) or NONE)
    if name == "ms_per_round":
        return TableCell(
            " + ".join(f"{part} {number(ms, 1)}" for part, ms in value.items()) or NONE
        )
    if isinstance(value, str):
        return TableCell(value)
    text = number(value, entry.digits, entry.scale)
    if not hasattr(row, f"{name}_ci"):
        return TableCell(text)
    estimate = row.estimate(name)
    note = interval(estimate.interval, entry.digits, entry.scale)
    ends = estimate.interval and _ends(estimate.interval, entry)
    if name.startswith("speedup_") and estimate.side(1) == "below":
        return TableCell(text, f"slower {note}", "slower", ends=ends)
    return TableCell(text, note, ends=ends)


def _ends(pair: Interval, entry: Entry) -> tuple[str, str]:
    low, high = (number(end, entry.digits, entry.scale) for end in pair)
    return low, high


def plain(table: Table) -> str:
    """Format a table as aligned text for a terminal, below its caption."""
    head = [one.label + (f" ({one.unit})" if one.unit else "") for one in table.columns]
    rows = [[" ".join(filter(None, (one.text, one.note))) for one in row] for row in table.rows]
    return f"{table.caption}\n{aligned([head, *rows])}".replace(NBSP, " ")
