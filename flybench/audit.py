"""What a loose rule let through: the class of each token, and how the target thought of it.

A mismatch that stays is harmless where two words say the same, and fatal where they are two digits.
The class looks at both texts, the token's own and that of the target's favourite.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pandas as pd

from flybench.core import Loosened

OPENING = 8  # tokens of an answer that decide its form
IMPROBABLE = 0.2  # of the favourite's probability
SPECIAL = re.compile(r"<\|.*\|>|</?s>|<end_of_turn>|<eos>")
# White space, fences, headings, table bars, rules and bold marks; one dash or star may be a sign.
LAYOUT = re.compile(r"\s*|\s*([`#|]|[*~>=-]{2})[\s`#*|~>=-]*")
NAME = re.compile(r"[a-z][A-Z]|\w_|_\w|\w\.\w|\(\)|::")
QUOTES = set("\"'“”‘’«»")
SIGNS = set("+−*/=%$€£¥°^<>≤≥±×÷")
UNITS = (
    *("mm", "cm", "km", "kg", "mg", "ml", "ms", "min", "hz", "kw", "inch", "inches", "feet"),
    *("mile", "miles", "metres", "meters", "litres", "liters", "grams", "kilograms", "degrees"),
    *("hours", "minutes", "seconds", "days", "weeks", "dollars", "cents", "euros", "pounds"),
    *("percent",),
)
NEGATIONS = (
    *("not", "no", "never", "none", "neither", "nor", "without", "cannot", "n't", "nothing"),
    *("nobody", "nowhere", "isn", "aren", "wasn", "weren", "don", "doesn", "didn", "won", "can't"),
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
    *("ending", "digit", "format", "sign or unit", "negation", "quote", "identifier"),
    *("function word", "other"),
)


def classify(text: str, preferred: str) -> str:
    """The first of `CLASSES` that fits a token kept in place of the one that was preferred."""
    both = (text, preferred)
    words = [part.strip().lower() for part in both]
    if any(SPECIAL.fullmatch(part.strip()) for part in both):
        return "ending"
    if any(char.isdigit() for part in both for char in part):
        return "digit"
    if any(LAYOUT.fullmatch(part) for part in both):
        return "format"
    if any(set(word) & SIGNS or word in UNITS for word in words):
        return "sign or unit"
    if any(word in NEGATIONS for word in words):
        return "negation"
    if any(set(part) & QUOTES for part in both):
        return "quote"
    if any(NAME.search(part) for part in both):
        return "identifier"
    return "function word" if all(word in FUNCTION_WORDS for word in words) else "other"


AUDIT = (
    *("loose_classes", "loose_improbable", "loose_opening", "loose_flips"),
    "loose_harmful",
)


def audit(samples: pd.DataFrame, baseline: pd.DataFrame) -> dict[str, Any]:
    """Figures of a method's finished samples; None where its records say nothing of loose tokens.

    `samples` and `baseline` are those of `flybench.frames.sample_frame`.
    """
    tokens: list[Loosened] = [token for row in samples["loosened"] for token in row]
    if len(tokens) != samples["loose"].sum():
        return dict.fromkeys(AUDIT)
    counts = Counter(classify(token.text, token.preferred_text) for token in tokens)
    emitted = samples["tokens"].sum()
    opinions = [token.opinion for token in tokens]
    unlikely = [o.probability < IMPROBABLE * o.max_probability for o in opinions]
    early = [any(token.place < OPENING for token in row) for row in samples["loosened"]]
    return {
        "loose_classes": {name: 1000 * counts[name] / emitted for name in CLASSES if counts[name]},
        "loose_improbable": sum(unlikely) / len(unlikely) if unlikely else None,
        "loose_opening": sum(early) / len(early) if early else None,
        **_flips(samples, baseline),
    }


def _flips(samples: pd.DataFrame, baseline: pd.DataFrame) -> dict[str, Any]:
    """Judged pairs that were lost, and that were won, in an answer with loose tokens; and how many
    of these tokens precede the fact that came out wrong.

    None where nothing judged them, or grades did, which are no right or wrong.
    """
    pairs = samples.join(baseline[["correct"]], rsuffix="_ar").dropna(
        subset=["correct", "correct_ar"]
    )
    if not len(pairs) or pairs["graded"].any():
        return {"loose_flips": None, "loose_harmful": None}
    loose, change = pairs["loose"] > 0, pairs["correct"] - pairs["correct_ar"]
    return {
        "loose_flips": [int((loose & (change < 0)).sum()), int((loose & (change > 0)).sum())],
        "loose_harmful": sum(map(len, pairs["before_fact"][change < 0])),
    }
