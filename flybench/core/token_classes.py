"""Classes of loose tokens, from the texts of the token and the target's top-1, and the context.

An accepted mismatch is harmless between two synonyms and severe between two digits. The context
resolves ambiguous texts: a dash is a list marker at the start of a line and a sign elsewhere; a
word in a code block is an identifier. If several classes fit, the more severe one is used.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

SPECIAL = re.compile(r"<\|.*\|>|</?s>|<end_of_turn>|<eos>")
# White space, fences, headings, table bars, rules, bold marks; a single dash or star may be a sign.
LAYOUT = re.compile(r"\s*|\s*([`#|]|[*~>=-]{2})[\s`#*|~>=-]*")
LIST_MARKS = ("-", "*", "+", "•", "–")
NAME = re.compile(r"[a-z][A-Z]|\w_|_\w|\w\.\w|\(\)|::")
WORD = re.compile(r"[^\W\d]\w*")
CONTRACTION = re.compile(r"\w*'[a-z]+")  # the apostrophe of "it's" is not a quote
QUOTES = set("\"'“”‘’«»")
SIGNS = set("+−*/=%$€£¥°^<>≤≥±×÷")
DASHES = ("-", "–")
# Abbreviations are case-sensitive: " Ms" is not a millisecond.
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
    # The other languages of MGSM.
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
COPIED = 4  # the number of repeated tokens that counts as a copy


def classify(text: str, top1: str, before: str | None = None, copied: bool = False) -> str:
    """Return the first of `CLASSES` that fits a loose token.

    `text` is the token's text and `top1` that of the target's top-1. `before` is the answer before
    the token, or None if unknown. `copied` is True if the top-1 would have continued a copy.
    """
    both = (text, top1)
    written = [part.strip() for part in both]
    words = [word.lower().replace("’", "'") for word in written]
    if any(SPECIAL.fullmatch(word) for word in written):
        return "ending"
    if any(char.isdigit() for part in both for char in part) or _any_in(words, NUMBERS):
        return "digit"
    if any(LAYOUT.fullmatch(part) for part in both) or _is_list_marker(written, before):
        return "format"
    if any(set(word) & SIGNS for word in words) or _any_in(written, DASHES + ABBREVIATIONS):
        return "sign or unit"
    if _any_in(words, UNITS):
        return "sign or unit"
    if _any_in(words, NEGATIONS) or any(word.endswith("n't") for word in words):
        return "negation"
    if copied or any(set(word) & QUOTES and not CONTRACTION.fullmatch(word) for word in words):
        return "quote or copy"
    if any(NAME.search(part) for part in both) or _is_identifier(written, before):
        return "identifier"
    return "function word" if all(word in FUNCTION_WORDS for word in words) else "other"


def continues_copy(ids: Sequence[int], top1: int) -> bool:
    """Return True if the last `COPIED` ids, followed by `top1`, occurred before.

    `ids` are the prompt and the answer so far.
    """
    last = list(ids[-COPIED:])
    indices = (at for at, token in enumerate(ids) if token == top1 and at >= COPIED)
    return any(last == list(ids[at - COPIED : at]) for at in indices)


def _any_in(words: Sequence[str], known: Sequence[str]) -> bool:
    return any(word in known for word in words)


def _is_list_marker(written: Sequence[str], before: str | None) -> bool:
    starts = before is not None and not before.rpartition("\n")[2].strip()
    return starts and _any_in(written, LIST_MARKS)


def _is_identifier(written: Sequence[str], before: str | None) -> bool:
    """Return True if a text is an identifier in a code block, not in a comment or docstring."""
    if before is None or before.count("```") % 2 == 0:
        return False
    code = before.rpartition("```")[2]
    prose = "#" in code.rpartition("\n")[2] or code.count('"""') % 2 or "\n" not in code
    words = [word.lstrip("([{.,*") for word in written]
    return not prose and any(WORD.fullmatch(w) and not keyword.iskeyword(w) for w in words)
