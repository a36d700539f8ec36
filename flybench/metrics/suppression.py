"""Ratios over tiny counts are not given, and the row says so: one rule for every figure.

Below five, one event more or less moves a ratio by a fifth of its range or more, and a table of
such figures invites comparison. Shares of samples and speed-ups stay: the first are read beside
their number of samples, the second divide tokens and seconds. A speed-up without an interval, of
one sample, is left out as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from flybench.metrics.stats import Pairs

FEWEST = 5
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
        pairs = Pairs(*row["pairs"])
        known["answers that AR solved"] = pairs.both + pairs.lost
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
