"""Runs that differ in their seed alone: pooled figures, and the scatter of seeds and of samples.

At temperature > 0 a figure varies for two reasons: other samples could have been asked, and other
tokens could have been drawn. With S seeds on the same n samples both can be told apart. A figure is
a function of sums over samples; its first-order share u of every seed and sample is taken apart as
in a two-way analysis of variance: u = seed + sample + rest.
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
from flybench.metrics.suppression import FEWEST, LEVEL, RESAMPLES

Statistic = Callable[..., Floats]
STEP = 1e-4


class SeedSpread(NamedTuple):
    """A figure over seeds. `pooled` is that of all answers together.

    `between_seeds` is the standard deviation of one run's figure from seed to seed on the same
    samples; `between_samples` the standard error of a run's figure for the samples that happened to
    be asked, the draws' share taken out. Both are None for fewer than two seeds.
    """

    seeds: int
    samples: int
    pooled: float
    interval: Interval | None
    between_seeds: float | None
    between_samples: float | None


class PooledFigure(NamedTuple):
    """A statistic of sums of columns, and the pseudo-samples that its interval counts in."""

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
    """Every figure that the seeds' paired samples give; one `Paired.table` a seed.

    Samples that some seed lacks, or that were not judged under all, are left out of a figure. A
    retention is not given where AR solved too few (`flybench.metrics.suppression`).
    """
    found = {}
    for name, figure in FIGURES.items():
        frames = [frame.assign(one=1.0)[list(figure.columns)].dropna() for frame in pairs]
        common = sorted(set.intersection(*(set(frame.index) for frame in frames)))
        table = np.stack([frame.loc[common].to_numpy(dtype=float) for frame in frames])
        tiny = name == "retention" and table[..., 0].sum() < FEWEST * len(table)
        if common and not tiny:
            found[name] = spread(figure, table)
    return found


def spread(figure: PooledFigure, table: Floats, resamples: int = RESAMPLES) -> SeedSpread:
    """The figure of `table` [S, n, C]: seeds, samples, columns.

    The interval resamples samples, each with the answers of all seeds, so that it holds the scatter
    of samples and of draws. What the seeds' figures scatter more than that explains is common to a
    seed's samples, such as a slower hour; it is resampled by seeds, S − 1 of them with replacement,
    which makes the variance of their mean come out unbiased.
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
    apart = seeds > 1 and samples > 1
    return SeedSpread(
        seeds,
        samples,
        pooled,
        percentiles(values, level),
        float(single.std(ddof=1)) if seeds > 1 else None,
        float(np.sqrt(max(of_samples - rest, 0) / (seeds * samples))) if apart else None,
    )


def influence(statistic: Statistic, table: Floats) -> Floats:
    """How far each seed and sample moves the figure, to first order: [S, n, C] → [S, n]."""
    mean = table.mean((0, 1))
    steps = np.diag(STEP * np.where(mean == 0, 1, np.abs(mean)))
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = [
            (statistic(*(mean + step)) - statistic(*(mean - step))) / (2 * step.sum())
            for step in steps
        ]
    return (table - mean) @ np.nan_to_num(np.array(slopes))


def mean_squares(shares: Floats) -> tuple[float, float, float]:
    """Mean squares of seeds, samples and rest of [S, n]; 0 where there is only one to compare."""
    seeds, samples = shares.shape
    by_seed, by_sample = shares.mean(1, keepdims=True), shares.mean(0, keepdims=True)
    whole = shares.mean()
    rest = shares - by_seed - by_sample + whole
    return (
        samples * float(((by_seed - whole) ** 2).sum()) / max(seeds - 1, 1),
        seeds * float(((by_sample - whole) ** 2).sum()) / max(samples - 1, 1),
        float((rest**2).sum()) / max((seeds - 1) * (samples - 1), 1),
    )
