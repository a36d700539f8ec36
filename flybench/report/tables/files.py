r"""Tables as files: LaTeX for papers, and CSV for other programs.

LaTeX has `booktabs` rows to `\input`, every character printed as it is. A file holds only the
tabular; the paper has `\usepackage{booktabs}` and its own caption and float.

CSV has numbers as numbers, and an interval's ends in their own columns. No cell becomes a formula
in a spreadsheet: text that starts like one gets an apostrophe.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator

from flybench.report.tables.table import Column, Table, TableCell
from flybench.text import NBSP, NONE, visible

ESCAPES = str.maketrans(
    {
        **{char: f"\\{char}" for char in "&%$#_{}"},
        **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
        **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
        # After the end of a row, these two would be an argument of it.
        **{"[": "{[}", "*": "{*}"},
        **{"`": r"\textasciigrave{}", "'": r"\textquotesingle{}", '"': r"\textquotedbl{}"},
        **{"\n": " ", "\t": " ", "\u00a0": "~", "—": "--", "…": r"\ldots{}"},
        **{"τ": r"$\tau$", "γ": r"$\gamma$", "θ": r"$\theta$", "Σ": r"$\Sigma$", "√": r"$\surd$"},
        **{"×": r"$\times$", "÷": r"$\div$", "·": r"$\cdot$", "−": "$-$", "°": r"$^\circ$"},
        **{"⟨": r"$\langle$", "⟩": r"$\rangle$", "▼": r"$\downarrow$", "▲": r"$\uparrow$"},
    }
)

NUMBER = re.compile(r"-?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?")
FORMULA = ("=", "+", "-", "@", "\t")
Part = tuple[str, Callable[[TableCell], str]]


def to_latex(table: Table) -> str:
    """The table as a `tabular` environment, its caption as a comment."""
    shape = "".join("r" if column.numeric else "l" for column in table.columns)
    head = " & ".join(escaped(_heading(column)) for column in table.columns)
    rows = [" & ".join(map(_cell, row)) + r" \\" for row in table.rows]
    return "\n".join(
        [
            f"% {escaped(table.caption)}",
            rf"\begin{{tabular}}{{{shape}}}",
            r"\toprule",
            rf"{head} \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def escaped(text: str) -> str:
    """Text as LaTeX that prints that text, on one line."""
    return str(visible(text)).translate(ESCAPES)


def _heading(column: Column) -> str:
    return f"{column.label} ({column.unit})" if column.unit else column.label


def _cell(cell: TableCell) -> str:
    note = rf" {{\footnotesize {escaped(cell.note)}}}" if cell.note else ""
    return f"{escaped(cell.text)}{note}"


def to_csv(table: Table) -> str:
    """The table as CSV, a header first; empty where there is no figure."""
    parts = [list(_parts(table, place)) for place in range(len(table.columns))]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([csv_value(name) for column in parts for name, _ in column])
    for row in table.rows:
        pairs = zip(row, parts, strict=True)
        writer.writerow([csv_value(part(cell)) for cell, column in pairs for _, part in column])
    return stream.getvalue()


def csv_value(text: str) -> str:
    """A number without its commas, other text as it is, but never a formula."""
    if NUMBER.fullmatch(text):
        return text.replace(",", "")
    shown = str(visible(text)).replace(NBSP, " ")
    return f"'{shown}" if shown.lstrip(" \n").startswith(FORMULA) else shown


def _parts(table: Table, place: int) -> Iterator[Part]:
    """A column's text, and beside it the ends of its intervals or its notes, if it has any."""
    name = _heading(table.columns[place])
    cells = [row[place] for row in table.rows]
    yield name, lambda cell: "" if cell.text == NONE else cell.text
    if any(cell.ends for cell in cells):
        yield f"{name}, low", lambda cell: cell.ends[0] if cell.ends else ""
        yield f"{name}, high", lambda cell: cell.ends[1] if cell.ends else ""
    elif any(cell.note for cell in cells):
        yield f"{name}, note", lambda cell: cell.note
