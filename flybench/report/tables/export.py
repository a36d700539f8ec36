r"""Table export to LaTeX for papers and to CSV for other programs.

A LaTeX file contains one `tabular` with `booktabs` rules to `\input`, with special characters
escaped. The paper provides `\usepackage{booktabs}`, the caption and the float.

A CSV file contains plain numbers, with interval ends in separate columns. Text that a spreadsheet
would read as a formula is prefixed with an apostrophe.
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
        # After `\\`, these two would be parsed as its argument.
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
    """Return the table as a `tabular` environment, with its caption as a comment."""
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
    """Escape text to one line of LaTeX that prints as that text."""
    return str(visible(text)).translate(ESCAPES)


def _heading(column: Column) -> str:
    return f"{column.label} ({column.unit})" if column.unit else column.label


def _cell(cell: TableCell) -> str:
    note = rf" {{\footnotesize {escaped(cell.note)}}}" if cell.note else ""
    return f"{escaped(cell.text)}{note}"


def to_csv(table: Table) -> str:
    """Return the table as CSV with a header; missing values are empty."""
    parts = [list(_parts(table, index)) for index in range(len(table.columns))]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([csv_value(name) for column in parts for name, _ in column])
    for row in table.rows:
        pairs = zip(row, parts, strict=True)
        writer.writerow([csv_value(part(cell)) for cell, column in pairs for _, part in column])
    return stream.getvalue()


def csv_value(text: str) -> str:
    """Return a number without its commas, and other text with formulas disabled."""
    if NUMBER.fullmatch(text):
        return text.replace(",", "")
    shown = str(visible(text)).replace(NBSP, " ")
    return f"'{shown}" if shown.lstrip(" \n").startswith(FORMULA) else shown


def _parts(table: Table, index: int) -> Iterator[Part]:
    """Yield a column's text, followed by its interval ends or its notes if it has any."""
    name = _heading(table.columns[index])
    cells = [row[index] for row in table.rows]
    yield name, lambda cell: "" if cell.text == NONE else cell.text
    if any(cell.ends for cell in cells):
        yield f"{name}, low", lambda cell: cell.ends[0] if cell.ends else ""
        yield f"{name}, high", lambda cell: cell.ends[1] if cell.ends else ""
    elif any(cell.note for cell in cells):
        yield f"{name}, note", lambda cell: cell.note
