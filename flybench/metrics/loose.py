"""Loose tokens by class, with the target's statistics on them and the pairs that flipped."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd

from flybench.core.token_classes import CLASSES
from flybench.metrics.frames import ClassifiedToken
from flybench.metrics.method_summary import FlipCounts
from flybench.metrics.paired import joined

OPENING = 8  # first tokens of an answer, which decide its form
IMPROBABLE = 0.2  # of the target's top-1 probability
LOOSE_METRICS = (
    *("loose_classes", "loose_improbable", "loose_opening", "loose_flips"),
    "loose_harmful",
)


def loose_metrics(samples: pd.DataFrame, baseline: pd.DataFrame) -> dict[str, Any]:
    """Return metrics of a method's loose tokens; None if its records lack them.

    `samples` and `baseline` are tables of `flybench.metrics.frames.sample_frame`.
    """
    tokens: list[ClassifiedToken] = [each for row in samples["loose_tokens"] for each in row]
    if len(tokens) != samples["loose"].sum():
        return dict.fromkeys(LOOSE_METRICS)
    counts = Counter(each.kind for each in tokens)
    emitted = samples["tokens"].sum()
    statistics = [each.token.statistics for each in tokens]
    unlikely = [s.probability < IMPROBABLE * s.max_probability for s in statistics]
    early = [any(each.token.index < OPENING for each in row) for row in samples["loose_tokens"]]
    return {
        "loose_classes": {name: 1000 * counts[name] / emitted for name in CLASSES if counts[name]},
        "loose_improbable": sum(unlikely) / len(unlikely) if unlikely else None,
        "loose_opening": sum(early) / len(early) if early else None,
        **_flips(samples, baseline),
    }


def _flips(samples: pd.DataFrame, baseline: pd.DataFrame) -> dict[str, Any]:
    """Count lost and won pairs whose answer has loose tokens, and the loose tokens before an
    extracted answer that was lost.

    None without judged pairs, and for grades, which are not right or wrong.
    """
    pairs = joined(baseline, samples).dropna(subset=["correct", "correct_ar"])
    if not len(pairs) or pairs["graded"].any():
        return {"loose_flips": None, "loose_harmful": None}
    loose, change = pairs["loose"] > 0, pairs["correct"] - pairs["correct_ar"]
    return {
        "loose_flips": FlipCounts(
            lost=int((loose & (change < 0)).sum()), won=int((loose & (change > 0)).sum())
        ),
        "loose_harmful": sum(map(len, pairs["before_extracted"][change < 0])),
    }
