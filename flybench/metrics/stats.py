"""Intervals and tests over paired samples.

Intervals are 95 % bootstraps over samples, or of another `level` where several are to hold at once.

A sample is drawn with all its numbers at once, so that AR and the method stay paired. Shares of
right answers carry one pseudo-success and one pseudo-failure (Agresti and Coull; Agresti and Min
for pairs), so that n right answers of n, or no discordant pair at all, never claims certainty.
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

from flybench.config.checks import MANY
from flybench.metrics.suppression import LEVEL, POWER, RESAMPLES, SEED

Floats = NDArray[np.float64]
Side = Literal["above", "below", "open"]


class Interval(NamedTuple):
    """An interval, of 95 % unless something else is said."""

    low: float
    high: float

    def side(self, bar: float) -> Side:
        """The side of `bar` on which the whole interval is: at or above it, below it, or open.

        An interval without width on the bar is open.
        """
        if self.low >= bar < self.high:
            return "above"
        return "below" if self.high < bar else "open"

    def apart(self, other: Interval) -> bool:
        """Whether the two do not touch."""
        return self.low > other.high or self.high < other.low

    def brief(self) -> str:
        """``[0.951, 1.02]``: three significant digits."""
        return f"[{self.low:.3g}, {self.high:.3g}]"


def bootstrap(
    statistic: Callable[..., Floats],
    *columns: ArrayLike,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval | None:
    """Percentile interval of `statistic(sums of each column)` over resampled rows.

    `columns` are [n] arrays of per-sample numbers; the statistic gets one array of `resamples`
    sums for each. None for fewer than two samples, where nothing can be said.
    """
    values = resample(statistic, *columns, resamples=resamples)
    if values is None:
        return None
    return percentiles(values, widened(level, len(np.asarray(columns[0]))))


def widened(level: float, n: int) -> float:
    """The share of resampled values that makes an interval of `level` over `n` samples.

    Resampling n of n scatters too little, by the root of (n − 1) / n, and knows no t: Hesterberg's
    expanded percentiles (2015, What Teachers Should Know About the Bootstrap, section 5.3) make up
    for both. From a hundred samples on it hardly matters.
    """
    reach = stdtrit(n - 1, (1 + level) / 2) * sqrt(n / (n - 1))
    return float(2 * ndtr(reach) - 1)


def resample(
    statistic: Callable[..., Floats], *columns: ArrayLike, resamples: int = RESAMPLES
) -> Floats | None:
    """The values behind `bootstrap`'s interval [resamples]; None for fewer than two samples."""
    table = np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)
    if len(table) < 2:
        return None
    # Drawing how often each row occurs is the same law as drawing rows, in less memory; equal rows,
    # as right and wrong answers are, are drawn together.
    rows, times = np.unique(table, axis=0, return_counts=True)
    once = len(rows) == len(table)
    counts = _drawn_once(len(table), resamples) if once else _drawn(times, resamples)
    with np.errstate(divide="ignore", invalid="ignore"):
        return statistic(*(counts @ rows).T)


def _drawn(times: NDArray[np.int64], resamples: int) -> Floats:
    """How often each row is drawn, by the times that it occurs [resamples, rows]."""
    total = times.sum()
    rng = np.random.default_rng(SEED)
    return rng.multinomial(total, times / total, size=resamples).astype(float)


@lru_cache(maxsize=1)
def _drawn_once(count: int, resamples: int) -> Floats:
    """The same for so many different rows: kept, since every timing of a run draws alike."""
    return _drawn(np.ones(count, dtype=np.int64), resamples)


def percentiles(values: Floats | None, level: float = LEVEL) -> Interval | None:
    """The middle 95 %, or `level`, of what is finite; None if nothing is."""
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
    """B's rate over A's: tokens a second, or whatever n counts for each of t."""
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

    None where the baseline solved nothing: there is nothing to retain.
    """
    if not np.sum(np.asarray(baseline, dtype=float)):
        return None
    # One pair that only the baseline solved and one that only the method solved.
    before = np.append(np.asarray(baseline, dtype=float), [1.0, 0.0])
    after = np.append(np.asarray(method, dtype=float), [0.0, 1.0])
    return bootstrap(lambda b, a: a / b, before, after, level=level)


def mcnemar(lost: int, won: int) -> float:
    """Exact two-sided McNemar test: probability of so uneven a split of the discordant pairs."""
    from scipy.stats import binomtest  # takes half a second to import

    return float(binomtest(lost, lost + won).pvalue) if lost + won else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: p-values of a family, each adjusted for the size of the family.

    The smallest is multiplied by the number of tests, the next by one less and so on; none falls
    below the one before it, or exceeds 1. Rejecting below 5 % then errs at all in 5 % of families.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    for rank, place in enumerate(order):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = reached
    return adjusted


class Pairs(NamedTuple):
    """What became of paired answers: right in both, only in the baseline (`lost`), only in the
    method (`won`), in neither."""

    both: int
    lost: int
    won: int
    neither: int

    @classmethod
    def of(cls, baseline: ArrayLike, method: ArrayLike) -> Pairs:
        """From [n] verdicts; half or more of a point counts as right."""
        before, after = (np.asarray(part, dtype=float) >= 0.5 for part in (baseline, method))
        parts = (before & after, before & ~after, ~before & after, ~before & ~after)
        return cls(*(int(part.sum()) for part in parts))

    @property
    def solved(self) -> int:
        """Pairs that the baseline solved."""
        return self.both + self.lost

    @property
    def p(self) -> float:
        """McNemar's exact p."""
        return mcnemar(self.lost, self.won)


def samples_needed(pairs: Pairs, margin: float, power: float, level: float = LEVEL) -> int:
    """Pairs after which a retention is `kept` with probability `power`, if it is true.

    The plan assumes what `pairs` show, two pseudo-pairs added: so many right, so many discordant,
    and as many won as lost. With A and B the verdicts of baseline and method, `kept` asks whether
    the mean of B − (1 − margin) · A is above 0 by 1.96 standard errors, or those of `level`, the
    interval's own two pseudo-pairs counted in.
    """
    kept, total = 1 - margin, sum(pairs) + 2
    discordant = (pairs.lost + pairs.won + 2) / total
    mean = margin * (pairs.both / total + discordant / 2)
    square = pairs.both / total * margin**2 + discordant / 2 * (kept**2 + 1)
    normal = NormalDist()
    reach = normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)

    def tells(count: int) -> bool:
        whole = (count * mean + margin) / (count + 2)
        spread = (count * square + kept**2 + 1) / (count + 2) - whole**2
        return (count + 2) * whole**2 >= reach**2 * spread

    return bisect_left(range(MANY), True, key=tells)


def samples_apart(
    n: int, point: float, interval: Interval, bar: float, power: float = POWER, level: float = LEVEL
) -> int:
    """Samples after which the interval of a ratio leaves out `bar` with probability `power`.

    `point` and `interval` are what `n` samples showed. Ratios are compared by their logarithms,
    whose error falls with the root of n.
    """
    if min(point, interval.low) <= 0 or point == bar:
        return MANY
    normal = NormalDist()
    half = normal.inv_cdf((1 + level) / 2)
    error = log(interval.high / interval.low) / (2 * half)
    needed = n * ((half + normal.inv_cdf(power)) * error / log(point / bar)) ** 2
    return MANY if isinf(needed) else max(ceil(needed), n + 1)
