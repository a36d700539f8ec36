"""Format numbers as text, and escape text from models and data sets for pages and terminals."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

NONE = "—"
NBSP = "\u00a0"
# Cc controls, Cf invisible and bidirectional marks, Cs lone surrogates, Zl/Zp line separators.
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


class _VisibleForms(dict[int, str]):
    """Visible form of each character by code point, computed once per character."""

    def __missing__(self, point: int) -> str:
        char = chr(point)
        hidden = char not in "\n\t" and unicodedata.category(char) in _HIDDEN
        self[point] = f"⟨U+{point:04X}⟩" if hidden else char
        return self[point]


_VISIBLE = _VisibleForms()
_MARKDOWN = re.compile(r"[\\`*_\[\]|~#$!]")


def number(value: Any, digits: int = 2, scale: float = 1.0) -> str:
    """Format `value * scale` with `digits` decimals; None, NaN and infinity become a dash."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{value * scale:,.{digits}f}"


def percent(share: float | None) -> str:
    """Format a share as ``99.0 %``, with a no-break space."""
    text = number(share, 1, 100)
    return text if text == NONE else f"{text}{NBSP}%"


def aligned(table: Sequence[Sequence[str]], left: int = 1) -> str:
    """Align rows of text in columns; the first `left` columns are left-aligned."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    )


def interval(pair: Sequence[float] | None, digits: int = 2, scale: float = 1.0) -> str:
    """Format an interval as ``[low, high]``, with a no-break space; empty for None."""
    if pair is None:
        return ""
    low, high = (number(end, digits, scale) for end in pair)
    return f"[{low},{NBSP}{high}]"


def visible(value: Any) -> Any:
    """Replace control and bidirectional characters by their code points, as ``⟨U+202E⟩``.

    Newlines and tabs stay. Values that are not text, and safe markup, are returned unchanged.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return value.translate(_VISIBLE)


def shorten(text: str, length: int = 80) -> str:
    """Cut text to `length` characters, the last of them an ellipsis if anything was cut."""
    return text if len(text) <= length else text[: length - 1] + "…"


def one_line(text: str, length: int = 60) -> str:
    """Return text as one visible line of at most `length` characters, for labels in figures."""
    return shorten(str(visible(text)).replace("\n", " "), length)


def markdown(value: Any) -> Any:
    """Escape text to one line of markdown that renders as that text, in a table cell too."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    line = re.sub(r"\s*\n\s*", " ⏎ ", visible(value)).replace("\t", " ")
    return _MARKDOWN.sub(r"\\\g<0>", html.escape(line, quote=False))


def preformatted(value: str) -> Markup:
    """Return text as a preformatted markdown block; unlike a fence, no content can end it early."""
    # An entity, because GitHub's filters process backticks even in HTML blocks.
    return Markup(f"<pre>{html.escape(visible(value)).replace('`', '&#96;')}</pre>")
