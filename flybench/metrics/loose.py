"""What a loose rule let through: tokens by class, and how the target thought of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd

from flybench.core.token_classes import CLASSES
from flybench.metrics.frames import ClassifiedToken
from flybench.metrics.paired import joined
from flybench.metrics.rows import FlipCounts

OPENING = 8  # tokens of an answer that decide its form
IMPROBABLE = 0.2  # of the favourite's probability
AUDIT = (
    *("loose_classes", "loose_improbable", "loose_opening", "loose_flips"),
    "loose_harmful",
)


def audit(samples: pd.DataFrame, baseline: pd.DataFrame) -> dict[str, Any]:
    """Figures of a method's finished samples; None where its records say nothing of loose tokens.

    `samples` and `baseline` are those of `flybench.metrics.frames.sample_frame`.
    """
    tokens: list[ClassifiedToken] = [each for row in samples["loose_tokens"] for each in row]
    if len(tokens) != samples["loose"].sum():
        return dict.fromkeys(AUDIT)
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
    """Judged pairs that were lost, and that were won, in an answer with loose tokens; and how many
    of these tokens precede the fact that came out wrong.

    None where nothing judged them, or grades did, which are no right or wrong.
    """
    pairs = joined(baseline, samples).dropna(subset=["correct", "correct_ar"])
    if not len(pairs) or pairs["graded"].any():
        return {"loose_flips": None, "loose_harmful": None}
    loose, change = pairs["loose"] > 0, pairs["correct"] - pairs["correct_ar"]
    return {
        "loose_flips": FlipCounts(
            lost=int((loose & (change < 0)).sum()), won=int((loose & (change > 0)).sum())
        ),
        "loose_harmful": sum(map(len, pairs["before_fact"][change < 0])),
    }
