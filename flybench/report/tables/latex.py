r"""Tables for papers: `booktabs` rows to `\input`, every character printed as it is.

A file holds the tabular alone; the paper has `\usepackage{booktabs}` and its own caption and float.
"""

from __future__ import annotations

from flybench.report.tables.table import Cell, Column, Table
from flybench.text import visible

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


def latex(table: Table) -> str:
    """The table as a `tabular` environment, its caption as a comment."""
    shape = "".join("r" if column.numeric else "l" for column in table.columns)
    head = " & ".join(_head(column) for column in table.columns)
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


def _head(column: Column) -> str:
    unit = f" ({column.unit})" if column.unit else ""
    return escaped(f"{column.label}{unit}")


def _cell(cell: Cell) -> str:
    note = rf" {{\footnotesize {escaped(cell.note)}}}" if cell.note else ""
    return f"{escaped(cell.text)}{note}"
