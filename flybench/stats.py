"""Intervals and tests over paired samples. Every interval is a 95 % bootstrap over samples.

A sample is drawn with all its numbers at once, so that AR and the method stay paired. Shares of
right answers carry one pseudo-success and one pseudo-failure (Agresti and Coull; Agresti and Min
for pairs), so that n right answers of n, or no discordant pair at all, never claims certainty.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Retention = Literal["kept", "lost", "not resolved"]
RESAMPLES = 10_000
SEED = 20251122


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float


def bootstrap(
    statistic: Callable[..., Floats], *columns: ArrayLike, resamples: int = RESAMPLES
) -> Interval | None:
    """Percentile interval of `statistic(sums of each column)` over resampled rows.

    `columns` are [n] arrays of per-sample numbers; the statistic gets one array of `resamples`
    sums for each. None for fewer than two samples, where nothing can be said.
    """
    table = np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)
    if len(table) < 2:
        return None
    rng = np.random.default_rng(SEED)
    # Drawing how often each row occurs is the same law as drawing rows, in less memory.
    share = np.full(len(table), 1 / len(table))
    counts = rng.multinomial(len(table), share, size=resamples)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = statistic(*(counts @ table).T)
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    low, high = np.quantile(values, [0.025, 0.975])
    return Interval(float(low), float(high))


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> float | None:
    """Σ numerator / Σ denominator; None where the denominator is 0."""
    total = float(np.sum(np.asarray(denominator, dtype=float)))
    return float(np.sum(np.asarray(numerator, dtype=float))) / total if total else None


def accuracy_interval(correct: ArrayLike) -> Interval | None:
    """Interval of the mean of [n] values in [0, 1]."""
    if not len(np.asarray(correct)):
        return None
    padded = np.append(np.asarray(correct, dtype=float), [0.0, 1.0])
    return bootstrap(lambda right, n: right / n, padded, np.ones(len(padded)))


def retention_interval(baseline: ArrayLike, method: ArrayLike) -> Interval | None:
    """Interval of (accuracy of the method) / (accuracy of the baseline) over paired samples.

    None where the baseline solved nothing: there is nothing to retain.
    """
    if not np.sum(np.asarray(baseline, dtype=float)):
        return None
    # One pair that only the baseline solved and one that only the method solved.
    before = np.append(np.asarray(baseline, dtype=float), [1.0, 0.0])
    after = np.append(np.asarray(method, dtype=float), [0.0, 1.0])
    return bootstrap(lambda b, a: a / b, before, after)


def retention_verdict(interval: Interval | None, margin: float) -> Retention:
    """`kept` if all of the interval lies above 1 − margin, `lost` if all of it lies below."""
    if interval is None:
        return "not resolved"
    if interval.low >= 1 - margin:
        return "kept"
    return "lost" if interval.high < 1 - margin else "not resolved"


def mcnemar(lost: int, won: int) -> float:
    """Exact two-sided McNemar test: probability of so uneven a split of the discordant pairs."""
    total = lost + won
    tail = sum(comb(total, k) for k in range(min(lost, won) + 1)) / 2**total
    return min(1.0, 2 * tail)
