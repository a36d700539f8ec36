"""The counts, levels and resamples of every statistic, and the suppression of tiny ratios.

Ratios over tiny counts are not given, and the row says so: one rule for every figure.

Below five, one event more or less moves a ratio by a fifth of its range or more, and a table of
such figures invites comparison. Shares of samples and speed-ups stay: the first are read beside
their number of samples, the second divide tokens and seconds. A speed-up without an interval, of
one sample, is left out as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

# Intervals: their level, and the bootstrap behind them.
LEVEL = 0.95
RESAMPLES = 10_000
SEED = 20251122
# Tests: the chance of an error that they allow, and that of showing what is there.
SIGNIFICANCE = 0.05
POWER = 0.8
SURER_POWER = 0.9  # what `flybench power` plans for besides

# Below the line of a ratio.
FEWEST = 5
# Samples of a run: fewer settle nothing, whatever their interval.
FEWEST_SETTLING = 30
# Samples of a tuning: fewer leave no half that could resolve anything.
FEWEST_TUNED = 20
SAMPLES = "samples that both answered"
LEAST = {SAMPLES: 2}  # where it is not `FEWEST`: an interval takes two samples
# What is counted below the line of each figure.
COUNTED = {
    "retention": "answers that AR solved",
    "tau_pooled": "rounds",
    "tau_mean": "rounds",
    "accept_rate": "drafted tokens",
    "cost_ratio": "drafted tokens",
    "loose_improbable": "loose tokens",
    "speedup_throughput": SAMPLES,
    "speedup_latency": SAMPLES,
}


def solves_enough(right: float) -> bool:
    """Whether so many right answers of the baseline make a retention mean anything."""
    return right >= FEWEST


def counts(row: Mapping[str, Any], samples: pd.DataFrame) -> dict[str, int]:
    """How many of each thing of `COUNTED` a method's row rests on; without what it has none of."""
    found = {
        "rounds": int(samples["rounds"].sum()),
        "drafted tokens": int(samples["drafted"].sum()),
        "loose tokens": int(samples["loose"].sum()),
    }
    known = {what: count for what, count in found.items() if count}
    if row["n_paired"]:
        known[SAMPLES] = row["n_paired"]
    if row["pairs"] is not None:  # AR may have solved none
        known["answers that AR solved"] = row["pairs"].solved
    return known


def without_tiny_ratios(row: Mapping[str, Any], samples: pd.DataFrame) -> dict[str, Any]:
    """The row with None for ratios over fewer than `FEWEST` or `LEAST`, which `too_few` names with
    the count.

    A verdict on a retention that is not given is `not resolved`.
    """
    known = counts(row, samples)
    tiny = {
        name: known[what]
        for name, what in COUNTED.items()
        if what in known and known[what] < LEAST.get(what, FEWEST)
    }
    kept = {**row, **dict.fromkeys(tiny), "too_few": tiny}
    if "retention" in tiny:
        kept |= {"retention_ci": None, "retention_verdict": "not resolved"}
    return kept
