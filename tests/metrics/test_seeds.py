"""Several seeds: two scatters kept apart, and an interval that holds both."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from flybench.metrics.seeds import FIGURES, PooledFigure, SeedSpread, across, spread

MEAN = PooledFigure(lambda total, n: total / n, ("value", "one"))
SAMPLES, SEEDS = 60, 3


def drawn(
    rng: np.random.Generator, of_seeds: float, of_samples: float, rest: float, seeds: int = SEEDS
) -> np.ndarray:
    """[S, n, 2] values around 10 with three standard deviations, and ones."""
    noise = (
        of_seeds * rng.normal(size=(seeds, 1))
        + of_samples * rng.normal(size=(1, SAMPLES))
        + rest * rng.normal(size=(seeds, SAMPLES))
    )
    return np.stack([10 + noise, np.ones((seeds, SAMPLES))], axis=-1)


def many(of_seeds: float, of_samples: float, rest: float, seeds: int = SEEDS) -> list[SeedSpread]:
    rng = np.random.default_rng(5)
    tables = (drawn(rng, of_seeds, of_samples, rest, seeds) for _ in range(150))
    return [spread(MEAN, table, resamples=400) for table in tables]


@pytest.mark.parametrize(
    ("of_seeds", "of_samples", "rest"), [(0, 2, 1), (0, 0, 3), (0.3, 1, 1), (0, 3, 0)]
)
def test_the_two_scatters_are_kept_apart(of_seeds: float, of_samples: float, rest: float) -> None:
    found = many(of_seeds, of_samples, rest)
    seeds = np.mean([one.between_seeds**2 for one in found if one.between_seeds is not None])
    samples = np.mean([one.between_samples**2 for one in found if one.between_samples is not None])
    assert seeds == pytest.approx(of_seeds**2 + rest**2 / SAMPLES, rel=0.25, abs=1e-12)
    # What is below zero counts as zero, which biases a scatter that is not there upwards a little.
    assert samples == pytest.approx(of_samples**2 / SAMPLES, rel=0.25, abs=0.02)


@pytest.mark.parametrize(
    ("of_seeds", "of_samples", "rest", "seeds"),
    [(0, 2, 1, 2), (0, 0, 3, 3), (0, 2, 2, 5), (0.3, 1, 1, 8)],
)
def test_intervals_cover_the_truth(
    of_seeds: float, of_samples: float, rest: float, seeds: int
) -> None:
    intervals = [one.interval for one in many(of_seeds, of_samples, rest, seeds)]
    covered = [one is not None and one.low <= 10 <= one.high for one in intervals]
    assert 0.88 <= np.mean(covered) <= 0.99


def test_more_seeds_narrow_what_draws_scatter_and_not_what_samples_do() -> None:
    def width(rest: float, of_samples: float, seeds: int) -> float:
        found = many(0, of_samples, rest, seeds)
        ends = [one.interval for one in found if one.interval is not None]
        return float(np.mean([interval.high - interval.low for interval in ends]))

    assert width(3, 0, 8) < 0.55 * width(3, 0, 2)
    assert width(0, 3, 8) == pytest.approx(width(0, 3, 2), rel=0.05)


def paired(rng: np.random.Generator, right: np.ndarray) -> pd.DataFrame:
    n = len(right)
    names = ("decode_s", "total_s", "decode_s_ar", "total_s_ar")
    times = {name: rng.uniform(1, 2, n) for name in names}
    counts = {f"tokens{end}": rng.integers(50, 90, n) for end in ("", "_ar")}
    correct = {"correct": right.astype(float), "correct_ar": np.ones(n)}
    index = [f"s{number}" for number in range(n)]
    return pd.DataFrame({**times, **counts, **correct}, index=index)


def test_figures_of_paired_samples() -> None:
    rng = np.random.default_rng(6)
    right = [rng.random(40) < 0.7 for _ in range(3)]
    found = across([paired(rng, each) for each in right])
    assert set(found) == set(FIGURES)
    assert found["accuracy"].pooled == pytest.approx(np.mean(right))
    assert found["retention"].pooled == pytest.approx(np.mean(right))
    assert found["accuracy"].between_seeds == pytest.approx(np.std(np.mean(right, 1), ddof=1))
    assert found["accuracy_ar"][:3] == (3, 40, 1.0)
    assert found["accuracy_ar"].interval is not None and found["accuracy_ar"].interval.low < 1


def test_only_common_samples_count_and_unjudged_ones_have_times_alone() -> None:
    rng = np.random.default_rng(7)
    frames = [paired(rng, np.ones(10)), paired(rng, np.ones(10)).iloc[3:]]
    frames[0].loc["s9", "correct"] = np.nan
    found = across(frames)
    assert (found["accuracy"].samples, found["speedup_latency"].samples) == (6, 7)


def test_one_seed_has_no_scatter_between_seeds() -> None:
    found = across([paired(np.random.default_rng(8), np.ones(10))])
    assert {(one.between_seeds, one.between_samples) for one in found.values()} == {(None, None)}
    assert found["speedup_latency"].interval is not None


def test_a_retention_over_few_right_answers_is_not_given() -> None:
    rng = np.random.default_rng(9)
    frames = [paired(rng, np.ones(10)).assign(correct_ar=[1.0] * 4 + [0.0] * 6) for _ in range(2)]
    assert "retention" not in across(frames)
