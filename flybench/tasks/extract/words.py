"""Comparison of words in an answer, whatever their case and encoding."""

from __future__ import annotations

import re
import unicodedata


def contains_words(text: str, phrase: str) -> bool:
    """Return whether `phrase` occurs in `text` as whole words, ignoring case and encoding."""
    words, inside = normalised(phrase), normalised(text)
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", inside) is not None


def normalised(text: str) -> str:
    """Return text case-folded, composed, and with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
