"""Where answers part from AR's, and whether a near tie explains it."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

# A top-2 gap below this is a tie that another order of additions can flip (logits, bf16 noise).
TIE_MARGIN = 0.125
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
    pairs = baseline[["ids", "margins"]].join(
        samples[["ids", "loose_indices"]], rsuffix="_method", how="inner"
    )
    places = [
        first_divergence(a, b) for a, b in zip(pairs["ids"], pairs["ids_method"], strict=True)
    ]
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
