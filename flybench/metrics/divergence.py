"""Divergence of answers from AR's, near ties that explain it, and repetition loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from flybench.metrics.paired import joined

# In logits: a top-2 gap below this is a near tie that a different summation order can flip (bf16).
TIE_MARGIN = 0.125
MAX_NGRAM = 64  # tokens of the repeated n-gram: up to a few sentences
MIN_COPIES = 4
MIN_LOOP = 24  # tokens
DIVERGENCE = ("exact_match_rate", "first_divergence_median", "tie_flips")


def first_divergence(ours: list[int], theirs: list[int]) -> int | None:
    """Return the index of the first differing token; None for equal answers."""
    if ours == theirs:
        return None
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


def first_divergences(baseline: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Return the first divergence of every sample that both finished, by sample id.

    `diverged_at` is the index of the first differing token (0-based, NaN for equal answers).
    `margin` is AR's top-2 logit gap at that index, infinite if AR's answer had ended. `tie` is True
    if that gap is a near tie and the method's token is not a loose one.
    """
    pairs = joined(baseline[["ids", "margins"]], samples[["ids", "loose_indices"]])
    indices = [first_divergence(a, b) for a, b in zip(pairs["ids_ar"], pairs["ids"], strict=True)]
    margins = [
        math.nan if index is None else own[index] if index < len(own) else math.inf
        for index, own in zip(indices, pairs["margins"], strict=True)
    ]
    table = pd.DataFrame(
        {"diverged_at": indices, "margin": margins}, index=pairs.index, dtype=float
    )
    with_loose = zip(indices, pairs["loose_indices"], strict=True)
    exact = pd.Series([index not in loose for index, loose in with_loose], pairs.index, dtype=bool)
    return table.assign(tie=(table["margin"] < TIE_MARGIN) & exact)


def divergence(baseline: pd.DataFrame, samples: pd.DataFrame) -> dict[str, Any]:
    """Return the share of answers equal to AR's, the median divergence, and the near ties."""
    first = first_divergences(baseline, samples)
    if not len(first):
        return dict.fromkeys(DIVERGENCE)
    diverged = first["diverged_at"].dropna()
    median = diverged.median() if len(diverged) else None
    values = (first["diverged_at"].isna().mean(), median, first["tie"].sum())
    return dict(zip(DIVERGENCE, values, strict=True))


def looped(ids: Sequence[int]) -> int:
    """Count the tokens of `ids` that are part of a loop.

    A loop is at least four consecutive copies of one n-gram (n ≤ 64) over at least 24 tokens; the
    last copy may be cut off. Table rows, verses and short runs of zeros repeat less often or change
    a token each time, whereas a stuck answer repeats up to the length limit.
    """
    text = np.asarray(ids)
    inside = np.zeros(len(text), dtype=bool)
    for size in range(1, min(MAX_NGRAM, len(text) // MIN_COPIES) + 1):
        equal, least = text[size:] == text[:-size], max(MIN_COPIES * size, MIN_LOOP)
        if np.count_nonzero(equal) < least - size:
            continue
        same = np.concatenate(([False], equal, [False]))
        edges = np.flatnonzero(same[1:] != same[:-1])
        for start, end in zip(edges[::2], edges[1::2] + size, strict=True):
            if end - start >= least:
                inside[start:end] = True
    return int(inside.sum())
