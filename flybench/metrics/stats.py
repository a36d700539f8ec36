"""Intervals and tests over paired samples.

Intervals are 95 % bootstraps over samples. A different `level` corrects for several intervals that
must hold at once.

Samples are resampled as whole rows, which keeps AR and the method paired. Accuracies
include one pseudo-success and one pseudo-failure (Agresti and Coull; Agresti and Min for pairs).
Without them, n right answers out of n, or zero discordant pairs, would have zero-width intervals.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil, isinf, log, sqrt
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtrit

from flybench.config.checks import MAX_COUNT
from flybench.metrics.suppression import LEVEL, POWER, RESAMPLES, SEED

Floats = NDArray[np.float64]
Side = Literal["above", "below", "open"]


class Interval(NamedTuple):
    """An interval, at the 95 % level unless stated otherwise."""

    low: float
    high: float

    def side(self, bar: float) -> Side:
        """Return the side of `bar` that contains the whole interval.

        ``above`` means at or above the bar, ``below`` strictly below it, and ``open`` that the
        interval spans it. An interval of zero width on the bar is open.
        """
        if self.low >= bar < self.high:
            return "above"
        return "below" if self.high < bar else "open"

    def disjoint(self, other: Interval) -> bool:
        """Return True if the two intervals do not overlap or touch."""
        return self.low > other.high or self.high < other.low

    def brief(self) -> str:
        """Format with three significant digits, as ``[0.951, 1.02]``."""
        return f"[{self.low:.3g}, {self.high:.3g}]"


def bootstrap(
    statistic: Callable[..., Floats],
    *columns: ArrayLike,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval | None:
    """Percentile interval of `statistic(sums of each column)` over resampled rows.

    `columns` are [n] arrays of per-sample numbers. The statistic receives one array of `resamples`
    sums per column. Returns None for fewer than two samples.
    """
    values = resample(statistic, *columns, resamples=resamples)
    if values is None:
        return None
    return percentiles(values, widened(level, len(np.asarray(columns[0]))))


def widened(level: float, n: int) -> float:
    """Return the percentile level whose interval has coverage `level` for `n` samples.

    Bootstrap percentiles are too narrow for small n, by a factor of √((n − 1) / n) and by using
    normal instead of t quantiles. Hesterberg's expanded percentiles (2015, What Teachers Should
    Know About the Bootstrap, section 5.3) correct both. The effect is negligible from about a
    hundred samples on.
    """
    reach = stdtrit(n - 1, (1 + level) / 2) * sqrt(n / (n - 1))
    return float(2 * ndtr(reach) - 1)


def resample(
    statistic: Callable[..., Floats], *columns: ArrayLike, resamples: int = RESAMPLES
) -> Floats | None:
    """Bootstrap distribution of the statistic [resamples]; None for fewer than two samples."""
    table = np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)
    if len(table) < 2:
        return None
    # Drawing each row's count has the same distribution as drawing rows, and needs less memory.
    # Equal rows, such as right and wrong answers, are drawn together.
    rows, times = np.unique(table, axis=0, return_counts=True)
    once = len(rows) == len(table)
    counts = _drawn_once(len(table), resamples) if once else _drawn(times, resamples)
    with np.errstate(divide="ignore", invalid="ignore"):
        return statistic(*(counts @ rows).T)


def _drawn(times: NDArray[np.int64], resamples: int) -> Floats:
    """Resampled counts of each row [resamples, rows], given how often each occurs."""
    total = times.sum()
    rng = np.random.default_rng(SEED)
    return rng.multinomial(total, times / total, size=resamples).astype(float)


@lru_cache(maxsize=1)
def _drawn_once(count: int, resamples: int) -> Floats:
    """Resampled counts of `count` distinct rows; cached, as all timings of a run share them."""
    return _drawn(np.ones(count, dtype=np.int64), resamples)


def percentiles(values: Floats | None, level: float = LEVEL) -> Interval | None:
    """Central interval of the finite values at `level`; None if no value is finite."""
    if values is None or not np.isfinite(values).any():
        return None
    tail = (1 - level) / 2
    low, high = np.quantile(values[np.isfinite(values)], [tail, 1 - tail])
    return Interval(float(low), float(high))


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> float | None:
    """Σ numerator / Σ denominator; None where the denominator is 0."""
    total = float(np.sum(np.asarray(denominator, dtype=float)))
    return float(np.sum(np.asarray(numerator, dtype=float))) / total if total else None


def rate_ratio(n_a: Floats, t_a: Floats, n_b: Floats, t_b: Floats) -> Floats:
    """Ratio of B's rate n / t to A's, for example of tokens per second."""
    return (n_b / t_b) / (n_a / t_a)


def accuracy_interval(correct: ArrayLike) -> Interval | None:
    """Interval of the mean of [n] values in [0, 1]."""
    if not len(np.asarray(correct)):
        return None
    padded = np.append(np.asarray(correct, dtype=float), [0.0, 1.0])
    return bootstrap(lambda right, n: right / n, padded, np.ones(len(padded)))


def retention_interval(
    baseline: ArrayLike, method: ArrayLike, level: float = LEVEL
) -> Interval | None:
    """Interval of (accuracy of the method) / (accuracy of the baseline) over paired samples.

    Returns None if the baseline solved no sample.
    """
    if not np.sum(np.asarray(baseline, dtype=float)):
        return None
    # One pair that only the baseline solved and one that only the method solved.
    before = np.append(np.asarray(baseline, dtype=float), [1.0, 0.0])
    after = np.append(np.asarray(method, dtype=float), [0.0, 1.0])
    return bootstrap(lambda b, a: a / b, before, after, level=level)


def mcnemar(lost: int, won: int) -> float:
    """p-value of the exact two-sided McNemar test on the discordant pairs."""
    from scipy.stats import binomtest  # takes half a second to import

    return float(binomtest(lost, lost + won).pvalue) if lost + won else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust the p-values of a family of tests by Holm's step-down correction.

    The smallest p-value is multiplied by the number of tests, the next by one less, and so on.
    Adjusted values never decrease in that order and never exceed 1. Rejecting below 5 % then bounds
    the family-wise error rate at 5 %.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


class Pairs(NamedTuple):
    """Paired answers by outcome: right in both, only the baseline (`lost`), only the method
    (`won`), or neither."""

    both: int
    lost: int
    won: int
    neither: int

    @classmethod
    def of(cls, baseline: ArrayLike, method: ArrayLike) -> Pairs:
        """Count pairs from [n] scores; a score of at least 0.5 counts as right."""
        before, after = (np.asarray(part, dtype=float) >= 0.5 for part in (baseline, method))
        parts = (before & after, before & ~after, ~before & after, ~before & ~after)
        return cls(*(int(part.sum()) for part in parts))

    @property
    def solved(self) -> int:
        """Pairs that the baseline solved."""
        return self.both + self.lost

    @property
    def p(self) -> float:
        """p-value of the exact McNemar test."""
        return mcnemar(self.lost, self.won)


def samples_needed(pairs: Pairs, margin: float, power: float, level: float = LEVEL) -> int:
    """Return the number of pairs at which a true retention of 1 is `kept` with probability `power`.

    The plan takes the rates of right and discordant answers from `pairs` plus two pseudo-pairs, and
    assumes as many won as lost. With A and B the scores of baseline and method, `kept` requires the
    mean of B − (1 − margin) · A to exceed 0 by 1.96 standard errors (or the quantile of `level`),
    including the interval's two pseudo-pairs.
    """
    kept, total = 1 - margin, sum(pairs) + 2
    discordant = (pairs.lost + pairs.won + 2) / total
    mean = margin * (pairs.both / total + discordant / 2)
    square = pairs.both / total * margin**2 + discordant / 2 * (kept**2 + 1)
    normal = NormalDist()
    reach = normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)

    def resolves(count: int) -> bool:
        whole = (count * mean + margin) / (count + 2)
        spread = (count * square + kept**2 + 1) / (count + 2) - whole**2
        return (count + 2) * whole**2 >= reach**2 * spread

    return bisect_left(range(MAX_COUNT), True, key=resolves)


def samples_to_exclude(
    n: int, point: float, interval: Interval, bar: float, power: float = POWER, level: float = LEVEL
) -> int:
    """Return the number of samples at which a ratio's interval excludes `bar` with `power`.

    `point` and `interval` are the estimate from `n` samples. Ratios are compared on a log scale,
    where the standard error decreases as 1 / √n.
    """
    if min(point, interval.low) <= 0 or point == bar:
        return MAX_COUNT
    normal = NormalDist()
    half = normal.inv_cdf((1 + level) / 2)
    error = log(interval.high / interval.low) / (2 * half)
    needed = n * ((half + normal.inv_cdf(power)) * error / log(point / bar)) ** 2
    return MAX_COUNT if isinf(needed) else max(ceil(needed), n + 1)
