"""The first difference of an answer from AR's, whether a near tie explains it, and loops.

A model that cannot end goes round in a loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from flybench.metrics.paired import joined

# A top-2 gap below this is a tie that another order of additions can flip (logits, bf16 noise).
TIE_MARGIN = 0.125
LONGEST = 64  # tokens of the n-gram that repeats: up to a few sentences
COPIES = 4
SHORTEST = 24  # tokens of a loop
DIVERGENCE = ("exact_match_rate", "first_divergence_median", "tie_flips")


def first_divergence(ours: list[int], theirs: list[int]) -> int | None:
    """Index of the first differing token, None for equal answers."""
    if ours == theirs:
        return None
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


def partings(baseline: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """First divergences of the samples that both finished, by sample id.

    `place` is the index of the first token that differs (0 = the first, NaN for equal answers),
    `margin` AR's own top-2 logit gap there, infinite where AR had ended, and `tie` whether that gap
    is a near tie and no loose rule kept the other token; else the difference is a real one.
    """
    pairs = joined(baseline[["ids", "margins"]], samples[["ids", "loose_indices"]])
    places = [first_divergence(a, b) for a, b in zip(pairs["ids_ar"], pairs["ids"], strict=True)]
    margins = [
        math.nan if place is None else own[place] if place < len(own) else math.inf
        for place, own in zip(places, pairs["margins"], strict=True)
    ]
    found = pd.DataFrame({"place": places, "margin": margins}, index=pairs.index, dtype=float)
    kept = zip(places, pairs["loose_indices"], strict=True)
    exact = pd.Series([place not in loose for place, loose in kept], pairs.index, dtype=bool)
    return found.assign(tie=(found["margin"] < TIE_MARGIN) & exact)


def divergence(baseline: pd.DataFrame, samples: pd.DataFrame) -> dict[str, Any]:
    """How often the ids equal AR's, where they part, and how many part at a near tie."""
    found = partings(baseline, samples)
    if not len(found):
        return dict.fromkeys(DIVERGENCE)
    parted = found["place"].dropna()
    median = parted.median() if len(parted) else None
    values = (found["place"].isna().mean(), median, found["tie"].sum())
    return dict(zip(DIVERGENCE, values, strict=True))


def looped(ids: Sequence[int]) -> int:
    """Tokens of `ids` that lie in loops.

    A loop is a stretch in which one n-gram (n ≤ 64) follows itself back to back, in at least four
    copies and over at least 24 tokens; its last copy may be cut off. Rows of a table, verses or a
    short run of zeros repeat less often, or change a token each time; an answer that is stuck goes
    on to the cap.
    """
    text = np.asarray(ids)
    inside = np.zeros(len(text), dtype=bool)
    for size in range(1, min(LONGEST, len(text) // COPIES) + 1):
        equal, least = text[size:] == text[:-size], max(COPIES * size, SHORTEST)
        if np.count_nonzero(equal) < least - size:
            continue
        same = np.concatenate(([False], equal, [False]))
        edges = np.flatnonzero(same[1:] != same[:-1])
        for start, end in zip(edges[::2], edges[1::2] + size, strict=True):
            if end - start >= least:
                inside[start:end] = True
    return int(inside.sum())
