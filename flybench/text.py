"""Numbers as text, and text made safe: nothing from a model or data set reaches a page raw."""

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


class _Spelled(dict[int, str]):
    """Every character's visible form, each looked up once."""

    def __missing__(self, point: int) -> str:
        char = chr(point)
        hidden = char not in "\n\t" and unicodedata.category(char) in _HIDDEN
        self[point] = f"⟨U+{point:04X}⟩" if hidden else char
        return self[point]


_SPELLED = _Spelled()
_MARKDOWN = re.compile(r"[\\`*_\[\]|~#$!]")


def number(value: Any, digits: int = 2, scale: float = 1.0) -> str:
    """`value * scale` with `digits` decimals; a dash for None and for what is no number."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{value * scale:,.{digits}f}"


def percent(share: float | None) -> str:
    """A share as ``99.0 %``, held together by a no-break space."""
    text = number(share, 1, 100)
    return text if text == NONE else f"{text}{NBSP}%"


def aligned(table: Sequence[Sequence[str]], left: int = 1) -> str:
    """Rows of text in columns, the first `left` of them flush left."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    )


def interval(pair: Sequence[float] | None, digits: int = 2, scale: float = 1.0) -> str:
    """``[low, high]`` held together by a no-break space, empty for None."""
    if pair is None:
        return ""
    low, high = (number(end, digits, scale) for end in pair)
    return f"[{low},{NBSP}{high}]"


def visible(value: Any) -> Any:
    """Text with control and bidirectional characters spelled out, so that none acts on the page.

    Newlines and tabs stay. What is not text, or is safe markup already, is returned as it is.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return value.translate(_SPELLED)


def shorten(text: str, length: int = 80) -> str:
    """The first `length` characters, with an ellipsis if there are more."""
    return text if len(text) <= length else text[: length - 1] + "…"


def one_line(text: str, length: int = 60) -> str:
    """A name that fits in a figure and acts on nothing there."""
    return shorten(str(visible(text)).replace("\n", " "), length)


def markdown(value: Any) -> Any:
    """Text as one line of markdown that shows exactly that text, in a table's cell too."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    line = re.sub(r"\s*\n\s*", " ⏎ ", visible(value)).replace("\t", " ")
    return _MARKDOWN.sub(r"\\\g<0>", html.escape(line, quote=False))


def preformatted(value: str) -> Markup:
    """Text as a block of markdown; unlike a fence, no content can end it early."""
    # An entity, since GitHub's filters look at backticks even in HTML blocks.
    return Markup(f"<pre>{html.escape(visible(value)).replace('`', '&#96;')}</pre>")
