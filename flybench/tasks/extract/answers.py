"""Extraction of numbers and words from an answer."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation

NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?|[-−]?\.\d+")
# A model that goes on to invent the next question is no longer answering this one.
NEXT_QUESTION = re.compile(r"^[ \t]*(?:Question|Problem|Q)[ \t]*\d*[ \t]*[:.]", re.MULTILINE)


def last_number(text: str) -> Decimal | None:
    """Return the last number before any invented next question, without thousands separators."""
    found = last_number_text(text)
    return None if found is None else as_number(found)


def last_number_text(text: str) -> str | None:
    """Return the last number as it is written."""
    first = NUMBER.search(text)
    if first is None:
        return None
    invented = NEXT_QUESTION.search(text, first.end())
    return str(NUMBER.findall(text[: invented.start() if invented else None])[-1])


def as_number(text: str) -> Decimal | None:
    """Return a decimal number from text such as `1,234.50`; None if it is not a number."""
    try:
        return Decimal(text.replace(",", "").replace("−", "-").strip())
    except InvalidOperation:
        return None


def contains_words(text: str, phrase: str) -> bool:
    """Return whether `phrase` occurs in `text` as whole words, ignoring case and encoding."""
    words, inside = normalised(phrase), normalised(text)
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", inside) is not None


def normalised(text: str) -> str:
    """Return text case-folded, composed, and with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
