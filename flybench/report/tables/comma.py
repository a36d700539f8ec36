"""Tables as CSV for other programs: numbers as numbers, an interval's ends in their own columns.

No cell becomes a formula in a spreadsheet: text that starts like one gets an apostrophe.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator

from flybench.report.tables.table import Cell, Column, Table
from flybench.text import NBSP, NONE, visible

NUMBER = re.compile(r"-?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?")
FORMULA = ("=", "+", "-", "@", "\t")
Part = tuple[str, Callable[[Cell], str]]


def comma(table: Table) -> str:
    """The table as CSV, a header first; empty where there is no figure."""
    parts = [list(_parts(table, place)) for place in range(len(table.columns))]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([plain(name) for column in parts for name, _ in column])
    for row in table.rows:
        pairs = zip(row, parts, strict=True)
        writer.writerow([plain(part(cell)) for cell, column in pairs for _, part in column])
    return stream.getvalue()


def plain(text: str) -> str:
    """A number without its commas, other text as it is, but never a formula."""
    if NUMBER.fullmatch(text):
        return text.replace(",", "")
    shown = str(visible(text)).replace(NBSP, " ")
    return f"'{shown}" if shown.lstrip(" \n").startswith(FORMULA) else shown


def _parts(table: Table, place: int) -> Iterator[Part]:
    """A column's text, and beside it the ends of its intervals or its notes, if it has any."""
    name = _name(table.columns[place])
    cells = [row[place] for row in table.rows]
    yield name, lambda cell: "" if cell.text == NONE else cell.text
    if any(cell.ends for cell in cells):
        yield f"{name}, low", lambda cell: cell.ends[0] if cell.ends else ""
        yield f"{name}, high", lambda cell: cell.ends[1] if cell.ends else ""
    elif any(cell.note for cell in cells):
        yield f"{name}, note", lambda cell: cell.note


def _name(column: Column) -> str:
    return f"{column.label} ({column.unit})" if column.unit else column.label
