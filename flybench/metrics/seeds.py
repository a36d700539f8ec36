"""Pooled metrics of runs that differ only in seed, with between-seed and between-sample variance.

At temperature > 0 a metric varies for two reasons: the choice of samples and the sampled tokens.
S seeds on the same n samples separate the two. A metric is a function of sums over samples; the
influence u of each seed and sample, to first order, is decomposed as in a two-way analysis of
variance: u = seed + sample + residual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from flybench.metrics.stats import (
    Floats,
    Interval,
    percentiles,
    rate_ratio,
    resample,
    widened,
)
from flybench.metrics.suppression import LEVEL, MIN_COUNT, RESAMPLES

Statistic = Callable[..., Floats]
STEP = 1e-4


class SeedSpread(NamedTuple):
    """A metric over seeds; `pooled` is its value over the answers of all seeds.

    `between_seeds` is the standard deviation of one run's value from seed to seed, on the same
    samples. `between_samples` is the standard error of one run's value due to the choice of
    samples, without the part due to token sampling. Both are None for fewer than two seeds.
    """

    seeds: int
    samples: int
    pooled: float
    interval: Interval | None
    between_seeds: float | None
    between_samples: float | None


class PooledFigure(NamedTuple):
    """A statistic of column sums, and the pseudo-samples that its interval includes."""

    statistic: Statistic
    columns: tuple[str, ...]
    pseudo: tuple[tuple[float, ...], ...] = ()


FIGURES = {
    "accuracy_ar": PooledFigure(
        lambda right, n: right / n, ("correct_ar", "one"), ((1, 1), (0, 1))
    ),
    "accuracy": PooledFigure(lambda right, n: right / n, ("correct", "one"), ((1, 1), (0, 1))),
    "retention": PooledFigure(
        lambda ar, own: own / ar, ("correct_ar", "correct"), ((1, 0), (0, 1))
    ),
    "speedup_throughput": PooledFigure(
        rate_ratio, ("tokens_ar", "decode_s_ar", "tokens", "decode_s")
    ),
    "speedup_latency": PooledFigure(lambda ar, own: ar / own, ("total_s_ar", "total_s")),
}


def across(pairs: Sequence[pd.DataFrame]) -> dict[str, SeedSpread]:
    """Return the spread of every metric over seeds; `pairs` has one `Paired.table` per seed.

    Samples that are missing or not judged for some seed are excluded from a metric. A retention is
    suppressed if AR solved too few samples (`flybench.metrics.suppression`).
    """
    spreads = {}
    for name, figure in FIGURES.items():
        frames = [frame.assign(one=1.0)[list(figure.columns)].dropna() for frame in pairs]
        common = sorted(set.intersection(*(set(frame.index) for frame in frames)))
        table = np.stack([frame.loc[common].to_numpy(dtype=float) for frame in frames])
        tiny = name == "retention" and table[..., 0].sum() < MIN_COUNT * len(table)
        if common and not tiny:
            spreads[name] = spread(figure, table)
    return spreads


def spread(figure: PooledFigure, table: Floats, resamples: int = RESAMPLES) -> SeedSpread:
    """Return the spread of a metric over `table` [S, n, C]: seeds, samples, columns.

    The interval resamples samples, each with the answers of all seeds; it covers the variance of
    samples and of token sampling. Variance between seeds beyond that is common to all samples of a
    seed, for example because the machine was slower. It is resampled by drawing S − 1 seeds with
    replacement, which makes the variance of their mean unbiased.
    """
    seeds, samples, _ = table.shape
    pooled = float(figure.statistic(*table.sum((0, 1))))
    single = np.array([figure.statistic(*one.sum(0)) for one in table])
    of_seeds, of_samples, rest = mean_squares(influence(figure.statistic, table))
    padded = np.vstack([table.mean(0), *figure.pseudo])
    level = widened(LEVEL, len(padded)) if len(padded) > 1 else LEVEL
    values = resample(figure.statistic, *padded.T, resamples=resamples)
    if seeds > 1 and values is not None and of_seeds > 0:
        common = (single - single.mean()) * np.sqrt(max(of_seeds - rest, 0) / of_seeds)
        drawn = np.random.default_rng(0).integers(seeds, size=(len(values), seeds - 1))
        values = values + common[drawn].mean(1)
    separable = seeds > 1 and samples > 1
    return SeedSpread(
        seeds,
        samples,
        pooled,
        percentiles(values, level),
        float(single.std(ddof=1)) if seeds > 1 else None,
        float(np.sqrt(max(of_samples - rest, 0) / (seeds * samples))) if separable else None,
    )


def influence(statistic: Statistic, table: Floats) -> Floats:
    """First-order influence of each seed and sample on the metric: [S, n, C] → [S, n]."""
    mean = table.mean((0, 1))
    steps = np.diag(STEP * np.where(mean == 0, 1, np.abs(mean)))
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = [
            (statistic(*(mean + step)) - statistic(*(mean - step))) / (2 * step.sum())
            for step in steps
        ]
    return (table - mean) @ np.nan_to_num(np.array(slopes))


def mean_squares(shares: Floats) -> tuple[float, float, float]:
    """Mean squares of seeds, samples and residual of [S, n]; 0 for a single seed or sample."""
    seeds, samples = shares.shape
    by_seed, by_sample = shares.mean(1, keepdims=True), shares.mean(0, keepdims=True)
    whole = shares.mean()
    rest = shares - by_seed - by_sample + whole
    return (
        samples * float(((by_seed - whole) ** 2).sum()) / max(seeds - 1, 1),
        seeds * float(((by_sample - whole) ** 2).sum()) / max(samples - 1, 1),
        float((rest**2).sum()) / max((seeds - 1) * (samples - 1), 1),
    )
