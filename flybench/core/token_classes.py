"""What a loose token is about: its class, by its own text, the target's favourite and the place.

A mismatch that stays is harmless where two words say the same, and fatal where they are two digits.
Where a text may mean two things, the place decides: a dash is a list mark at the start of a line
and a sign elsewhere; a word in a block of code is a name. The graver class wins.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

SPECIAL = re.compile(r"<\|.*\|>|</?s>|<end_of_turn>|<eos>")
# White space, fences, headings, table bars, rules and bold marks; one dash or star may be a sign.
LAYOUT = re.compile(r"\s*|\s*([`#|]|[*~>=-]{2})[\s`#*|~>=-]*")
LIST_MARKS = ("-", "*", "+", "•", "–")
NAME = re.compile(r"[a-z][A-Z]|\w_|_\w|\w\.\w|\(\)|::")
WORD = re.compile(r"[^\W\d]\w*")
SHORTENED = re.compile(r"\w*'[a-z]+")  # an apostrophe of "it's", which quotes nothing
QUOTES = set("\"'“”‘’«»")
SIGNS = set("+−*/=%$€£¥°^<>≤≥±×÷")
DASHES = ("-", "–")
# Abbreviations as they are written: " Ms" is no millisecond.
ABBREVIATIONS = ("mm", "cm", "km", "kg", "mg", "ml", "mL", "ms", "Hz", "kW")
UNITS = (
    *("inch", "inches", "feet", "foot", "yards", "mile", "miles", "metre", "metres", "meter"),
    *("meters", "centimetres", "centimeters", "kilometres", "kilometers", "litres", "liters"),
    *("grams", "kilograms", "degrees", "hour", "hours", "minute", "minutes", "seconds", "litre"),
    *("day", "days", "week", "weeks", "month", "months", "year", "years", "dollar", "dollars"),
    *("cent", "cents", "euro", "euros", "pounds", "percent"),
)
NUMBERS = (
    *("zero", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
    *("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred"),
    *("thousand", "million", "billion", "half", "twice", "double"),
)
NEGATIONS = (
    *("not", "no", "never", "none", "neither", "nor", "without", "cannot", "n't", "'t", "nothing"),
    *("nobody", "nowhere", "false", "isn", "aren", "wasn", "weren", "don", "doesn", "didn"),
    *("couldn", "wouldn", "shouldn", "haven", "hasn", "hadn", "mustn", "needn"),
    # Of MGSM's other languages.
    *("nicht", "kein", "keine", "keinen", "nie", "niemals", "ohne", "nichts", "weder"),
    *("jamais", "sans", "aucun", "aucune", "rien", "ไม่", "ไม่มี"),
)
FUNCTION_WORDS = (
    *("a", "an", "the", "this", "that", "these", "those", "and", "or", "but", "so", "then", "if"),
    *("of", "to", "in", "on", "at", "by", "for", "from", "with", "as", "into", "over", "about"),
    *("is", "are", "was", "were", "be", "been", "has", "have", "had", "do", "does", "will"),
    *("would", "can", "could", "should", "may", "might", "it", "its", "he", "she", "they", "we"),
    *("you", "i", "his", "her", "their", "our", "your", "my", "which", "who", "when", "where"),
    *("there", "here", "also", "us", "them", "him", "each", "all", "both", "than", "what"),
    *(",", ".", ";", ":", "!", "?"),
)
CLASSES = (
    *("ending", "digit", "format", "sign or unit", "negation", "quote or copy", "identifier"),
    *("function word", "other"),
)
COPIED = 4  # tokens that stood in this order before


def classify(text: str, top1: str, before: str | None = None, copied: bool = False) -> str:
    """The first of `CLASSES` that fits a token kept in place of the one that was preferred.

    `before` is the answer so far (None where nobody knows it), and `copied` says that the
    favourite would have gone on with a copy.
    """
    both = (text, top1)
    written = [part.strip() for part in both]
    words = [word.lower().replace("’", "'") for word in written]
    if any(SPECIAL.fullmatch(word) for word in written):
        return "ending"
    if any(char.isdigit() for part in both for char in part) or _known(words, NUMBERS):
        return "digit"
    if any(LAYOUT.fullmatch(part) for part in both) or _marks_a_list(written, before):
        return "format"
    if any(set(word) & SIGNS for word in words) or _known(written, DASHES + ABBREVIATIONS):
        return "sign or unit"
    if _known(words, UNITS):
        return "sign or unit"
    if _known(words, NEGATIONS) or any(word.endswith("n't") for word in words):
        return "negation"
    if copied or any(set(word) & QUOTES and not SHORTENED.fullmatch(word) for word in words):
        return "quote or copy"
    if any(NAME.search(part) for part in both) or _names(written, before):
        return "identifier"
    return "function word" if all(word in FUNCTION_WORDS for word in words) else "other"


def continues_copy(ids: Sequence[int], top1: int) -> bool:
    """Whether the last `COPIED` of `ids`, prompt and answer so far, stood there before, with
    `top1` behind them."""
    last = list(ids[-COPIED:])
    places = (at for at, token in enumerate(ids) if token == top1 and at >= COPIED)
    return any(last == list(ids[at - COPIED : at]) for at in places)


def _known(words: Sequence[str], known: Sequence[str]) -> bool:
    return any(word in known for word in words)


def _marks_a_list(written: Sequence[str], before: str | None) -> bool:
    starts = before is not None and not before.rpartition("\n")[2].strip()
    return starts and _known(written, LIST_MARKS)


def _names(written: Sequence[str], before: str | None) -> bool:
    """Whether one is a name in a block of code, outside comments and strings of several lines."""
    if before is None or before.count("```") % 2 == 0:
        return False
    code = before.rpartition("```")[2]
    prose = "#" in code.rpartition("\n")[2] or code.count('"""') % 2 or "\n" not in code
    words = [word.lstrip("([{.,*") for word in written]
    return not prose and any(WORD.fullmatch(w) and not keyword.iskeyword(w) for w in words)
