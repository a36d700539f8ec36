"""Reading an answer out of text: numbers, code blocks, words."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from decimal import Decimal, InvalidOperation

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?|-?\.\d+")
# A model that goes on to invent the next question is no longer answering this one.
NEXT_QUESTION = re.compile(r"\n\s*(?:Question|Problem|Q)\s*\d*\s*[:.]")
FENCE = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


def last_number(text: str) -> Decimal | None:
    """The last number before any invented next question, thousands separators removed."""
    found = last_number_text(text)
    return None if found is None else as_number(found)


def last_number_text(text: str) -> str | None:
    """The same number as it is written."""
    found = NUMBER.findall(NEXT_QUESTION.split(text, maxsplit=1)[0])
    return str(found[-1]) if found else None


def as_number(text: str) -> Decimal | None:
    """A decimal number from text such as `1,234.50`; None if it is none."""
    try:
        return Decimal(text.replace(",", "").strip())
    except InvalidOperation:
        return None


def code_block(text: str, entry_point: str) -> str | None:
    """The code that defines `entry_point`: its fenced block, or the text itself if it is bare.

    An answer cut at its cap may lack the closing fence. Several blocks: the first that defines the
    function. None if nothing defines it.
    """
    definition = re.compile(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(entry_point)}\b", re.M)
    for _, block in FENCE.findall(text):
        if definition.search(block):
            return textwrap.dedent(block)
    bare = definition.search(text)
    return text[bare.start() :] if bare and "```" not in text else None


def contains_words(text: str, phrase: str) -> bool:
    """Whether `phrase` occurs in `text` as whole words, case and accents' encoding aside."""
    words, inside = normalised(phrase), normalised(text)
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", inside) is not None


def normalised(text: str) -> str:
    """Case-folded, composed, with white space runs as one space."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
