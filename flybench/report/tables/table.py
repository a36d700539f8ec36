"""What a table is, and how a figure of a summary becomes a cell.

One description feeds the page, markdown, LaTeX, CSV and the terminal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from flybench.metrics.glossary import GLOSSARY
from flybench.metrics.summary import PARTS, Row
from flybench.metrics.suppression import COUNTED
from flybench.text import NBSP, NONE, aligned, interval, number


class Cell(NamedTuple):
    """A cell's text, a smaller note beneath it, and a kind for its colour.

    `ends` are those of the text's interval, which the note shows too.
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
PAIRED = ("retention_verdict", "pairs", "mcnemar_p")


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
    pair = row.get(f"{name}_ci")
    note = interval(pair, entry.digits, entry.scale)
    ends = pair and tuple(number(end, entry.digits, entry.scale) for end in pair)
    if name.startswith("speedup_") and pair is not None and pair[1] < 1:
        return Cell(text, f"slower {note}", "slower", ends=ends)
    return Cell(text, note, ends=ends)


def plain(table: Table) -> str:
    """A table as aligned text for a terminal, its caption first."""
    head = [one.label + (f" ({one.unit})" if one.unit else "") for one in table.columns]
    rows = [[" ".join(filter(None, (one.text, one.note))) for one in row] for row in table.rows]
    return f"{table.caption}\n{aligned([head, *rows])}".replace(NBSP, " ")
