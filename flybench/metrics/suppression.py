"""Minimum counts, levels and resamples of all statistics, and suppression of tiny ratios.

Ratios over tiny counts are suppressed and listed in the row's `too_few`. Below a count of five, a
single event moves a ratio by a fifth of its range or more. Shares of samples are kept, because
they are reported with the number of samples. Speed-ups are kept, because they are ratios of tokens
and seconds; only a single-sample speed-up, which has no interval, is suppressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

# Interval level and bootstrap parameters.
LEVEL = 0.95
RESAMPLES = 10_000
SEED = 20251122
# Significance level and power of tests.
SIGNIFICANCE = 0.05
POWER = 0.8
HIGH_POWER = 0.9  # second plan of `flybench power`

# Denominator of a ratio.
MIN_COUNT = 5
# Samples of a run: with fewer, no verdict is given, whatever the interval.
MIN_VERDICT_SAMPLES = 30
# Samples of a tuning run: with fewer, neither half could resolve a difference.
MIN_TUNING_SAMPLES = 20
SAMPLES = "samples that both answered"
MIN_COUNTS = {SAMPLES: 2}  # exceptions to `MIN_COUNT`: an interval needs two samples
# Unit of each metric's denominator.
DENOMINATORS = {
    "retention": "answers that AR solved",
    "tau_pooled": "rounds",
    "tau_mean": "rounds",
    "accept_rate": "draft tokens",
    "cost_ratio": "draft tokens",
    "loose_improbable": "loose tokens",
    "speedup_throughput": SAMPLES,
    "speedup_latency": SAMPLES,
}


def solves_enough(right: float) -> bool:
    """Return True if `right` answers of the baseline are enough for a meaningful retention."""
    return right >= MIN_COUNT


def counts(row: Mapping[str, Any], samples: pd.DataFrame) -> dict[str, int]:
    """Return the non-zero denominators behind a method's row, by their unit in `DENOMINATORS`."""
    totals = {
        "rounds": int(samples["rounds"].sum()),
        "draft tokens": int(samples["drafted"].sum()),
        "loose tokens": int(samples["loose"].sum()),
    }
    present = {unit: count for unit, count in totals.items() if count}
    if row["n_paired"]:
        present[SAMPLES] = row["n_paired"]
    if row["pairs"] is not None:  # AR may have solved none
        present["answers that AR solved"] = row["pairs"].solved
    return present


def without_tiny_ratios(row: Mapping[str, Any], samples: pd.DataFrame) -> dict[str, Any]:
    """Set ratios over fewer than `MIN_COUNT` or `MIN_COUNTS` to None, and list them with their
    count in `too_few`.

    The verdict of a suppressed retention is `not resolved`.
    """
    present = counts(row, samples)
    tiny = {
        name: present[unit]
        for name, unit in DENOMINATORS.items()
        if unit in present and present[unit] < MIN_COUNTS.get(unit, MIN_COUNT)
    }
    kept = {**row, **dict.fromkeys(tiny), "too_few": tiny}
    if "retention" in tiny:
        kept |= {"retention_ci": None, "retention_verdict": "not resolved"}
    return kept
