r"""Extraction of the number that an answer gives.

The number is looked for in three places, and the first that has one decides:

1. after the first `####`, as in GSM8K's solutions,
2. in the last `\boxed{}`,
3. anywhere, where the last number counts.

In the first two, an equation gives its right-hand side. Text from an invented next question on is
no longer an answer. Thousands may be separated by commas, spaces, apostrophes or LaTeX's marks;
digits may be those of any script. An exponent of a unit is not a number, and a minus may precede a
currency sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

SPACES = " \u00a0\u2009\u202f"
SEPARATOR = rf"(?:,|\{{,\}}|\\[,;: ]|['’{SPACES}])"
CURRENCY = r"\\?[$€£¥₹]"
UNITS = ("m", "mm", "cm", "dm", "km", "in", "ft", "yd", "mi")
NO_EXPONENT = r"(?<!\^)(?<!\^\{)" + "".join(rf"(?<!\b{unit})" for unit in UNITS)
SIGN = rf"(?:(?<![\w)\]}}])[-−])?(?:{CURRENCY}[{SPACES}]?)?"
# Groups of three behind one kind of separator, or India's 1,00,000.
GROUPED = (
    rf"(?:\d{{1,3}}(?P<separator>{SEPARATOR})\d{{3}}(?:(?P=separator)\d{{3}})*(?!\d)"
    r"|\d{1,2}(?:,\d{2})+,\d{3}(?!\d))"
)
NUMBER = re.compile(rf"{SIGN}{NO_EXPONENT}(?:(?:{GROUPED}|\d+)(?:\.\d+)?|\.\d+)")
MARK = re.compile(r"####\s*([^\n]*)")
BOX = re.compile(r"\\f?boxed\s*(?:\{|(?=[\d\-−.]))")
# A model that goes on to invent the next question is no longer answering this one.
NEXT_QUESTION = re.compile(r"^[ \t]*(?:Question|Problem|Q)[ \t]*\d*[ \t]*[:.]", re.MULTILINE)


def final_number(text: str) -> Decimal | None:
    """Return the number that an answer gives, or None."""
    found = final_number_text(text)
    return None if found is None else as_number(found)


def final_number_text(text: str) -> str | None:
    """Return the number that an answer gives as it is written, or None."""
    first = NUMBER.search(text)
    if first is None:
        return None
    invented = NEXT_QUESTION.search(text, first.end())
    own = text[: invented.start() if invented else None]
    for place in _marked(own):
        if found := NUMBER.search(place.rsplit("=", 1)[-1]):
            return found[0]
    *_, last = NUMBER.finditer(own)
    return last[0]


def as_number(text: str) -> Decimal | None:
    """Return a decimal number from text such as `-$1,234.50`; None if it is not a number."""
    plain = re.sub(rf"{SEPARATOR}|{CURRENCY}", "", text.strip())
    try:
        return Decimal(plain.replace("−", "-"))
    except InvalidOperation:
        return None


def _marked(text: str) -> Iterator[str]:
    """Yield the places that are marked as the answer, the first choice first."""
    if mark := MARK.search(text):
        yield mark[1]
    for box in reversed(list(BOX.finditer(text))):
        rest = text[box.end() :]
        yield _braced(rest) if box[0].endswith("{") else re.split(r"[\n$]", rest)[0]


def _braced(text: str) -> str:
    """Return what precedes the brace that closes a group, all of `text` if none does."""
    depth = 1
    for brace in re.finditer(r"[{}]", text):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[: brace.start()]
    return text
