"""Intervals cover, verdicts are not bought with small samples, and McNemar is exact."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binomtest
from scipy.stats import bootstrap as scipy_bootstrap
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from flybench.metrics.paired import Estimate
from flybench.metrics.stats import (
    Interval,
    Pairs,
    accuracy_interval,
    bootstrap,
    holm,
    mcnemar,
    rate_ratio,
    ratio,
    retention_interval,
    samples_needed,
    widened,
)

EXPERIMENTS = 2000  # synthetic ones, in which the truth is known


def quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a / b


def paired_times(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of two methods on samples of very different lengths; the true ratio is 2."""
    length = rng.lognormal(0, 0.8, n)
    noise = rng.gamma(20, 1 / 20, n), rng.gamma(20, 1 / 20, n)
    return 2 * length * noise[0], length * noise[1]


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 15, 40, 164])
def test_intervals_of_a_ratio_cover_the_truth_as_often_as_they_say(n: int) -> None:
    """Plain percentiles of eight samples cover it 88 times in 100, widened ones 93 times."""
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(EXPERIMENTS):
        interval = bootstrap(quotient, *paired_times(rng, n), resamples=1000)
        assert interval is not None
        covered += interval.low <= 2 <= interval.high
    assert 0.93 <= covered / EXPERIMENTS <= 0.97


@pytest.mark.slow
def test_intervals_of_a_ratio_of_rates_cover_the_truth() -> None:
    """Tokens a second, where the method writes a fifth more tokens and is twice as fast at each."""
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(EXPERIMENTS):
        tokens = rng.poisson(200, (2, 164)) * np.array([[1.0], [1.2]])
        noise = rng.gamma(20, 1 / 20, (2, 164))
        seconds = tokens * noise / np.array([[1.0], [2.0]])
        columns = (tokens[0], seconds[0], tokens[1], seconds[1])
        interval = bootstrap(rate_ratio, *columns, resamples=1000)
        assert interval is not None
        covered += interval.low <= 2 <= interval.high
    assert 0.93 <= covered / EXPERIMENTS <= 0.97


def test_percentiles_are_those_of_scipy() -> None:
    times = paired_times(np.random.default_rng(8), 60)
    ours = bootstrap(quotient, *times)

    def of_sums(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
        return a.sum(axis=axis) / b.sum(axis=axis)

    theirs = scipy_bootstrap(
        times,
        of_sums,
        paired=True,
        method="percentile",
        n_resamples=10_000,
        confidence_level=widened(0.95, 60),
        rng=np.random.default_rng(9),
    ).confidence_interval
    assert ours == pytest.approx(tuple(theirs), rel=0.005)


def test_many_samples_need_no_wider_interval() -> None:
    assert widened(0.95, 1000) == pytest.approx(0.95, abs=1e-3)
    assert widened(0.95, 5) > 0.99


def test_pairing_makes_the_interval_narrow() -> None:
    """The lengths vary by far more than the ratio: only a paired bootstrap can tell."""
    rng = np.random.default_rng(2)
    slow, fast = paired_times(rng, 80)
    paired = bootstrap(quotient, slow, fast)
    unpaired = bootstrap(quotient, slow, rng.permutation(fast))
    assert paired is not None
    assert unpaired is not None
    assert (paired.high - paired.low) < 0.5 * (unpaired.high - unpaired.low)


def test_bootstrap_is_deterministic() -> None:
    columns = paired_times(np.random.default_rng(3), 30)
    assert bootstrap(quotient, *columns) == bootstrap(quotient, *columns)
    assert bootstrap(quotient, *columns) != bootstrap(quotient, *columns, resamples=500)


def test_bootstrap_matches_the_standard_error_of_a_mean() -> None:
    values = np.random.default_rng(4).normal(10, 3, 400)
    interval = bootstrap(quotient, values, np.ones(400))
    assert interval is not None
    half = 1.96 * values.std() / 20
    assert interval.low == pytest.approx(values.mean() - half, abs=0.05)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.05)


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_samples_say_nothing(n: int) -> None:
    assert bootstrap(quotient, np.ones(n), np.ones(n)) is None


def test_no_finite_value_says_nothing() -> None:
    assert bootstrap(quotient, [0.0, 0.0], [0.0, 0.0]) is None


def test_resamples_without_a_denominator_are_left_out() -> None:
    interval = bootstrap(quotient, [1.0, 1.0, 1.0], [0.0, 0.0, 1.0])
    assert interval is not None
    assert np.isfinite(interval).all()


def test_equal_samples_have_an_interval_of_no_width() -> None:
    interval = bootstrap(quotient, [3.0] * 5, [2.0] * 5)
    assert interval is not None
    assert interval == pytest.approx((1.5, 1.5))


def test_ratio_is_of_sums() -> None:
    assert ratio([1, 2, 3], [1, 1, 2]) == 1.5
    assert ratio([1, 2], [0, 0]) is None
    assert ratio([], []) is None


@pytest.mark.parametrize(("right", "n"), [(10, 10), (0, 10), (1, 1), (0, 1), (500, 500)])
def test_accuracy_is_never_certain(right: int, n: int) -> None:
    interval = accuracy_interval([1.0] * right + [0.0] * (n - right))
    assert interval is not None
    assert 0 <= interval.low < interval.high <= 1
    assert interval.low < right / n or right == 0
    assert interval.high > right / n or right == n


def test_accuracy_interval_shrinks_with_n_and_holds_the_mean() -> None:
    widths = []
    for n in (10, 100, 1000):
        interval = accuracy_interval([1.0, 1.0, 0.0, 1.0, 0.0] * (n // 5))
        assert interval is not None
        assert interval.low < 0.6 < interval.high
        widths.append(interval.high - interval.low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(2 * 1.96 * (0.24 / 1000) ** 0.5, rel=0.1)


def test_accuracy_of_nothing_is_unknown() -> None:
    assert accuracy_interval([]) is None
    assert retention_interval([], []) is None


def verdict(both: int, lost: int = 0, won: int = 0, neither: int = 0, margin: float = 0.01) -> str:
    before = [1.0] * (both + lost) + [0.0] * (won + neither)
    after = [1.0] * both + [0.0] * lost + [1.0] * won + [0.0] * neither
    return Estimate(0, None, retention_interval(before, after)).verdict(margin)


@pytest.mark.parametrize("n", [1, 2, 5, 20, 100])
def test_few_samples_never_prove_retention(n: int) -> None:
    assert verdict(n) == "not resolved"
    assert verdict(0, neither=n) == "not resolved"


def test_many_samples_without_a_loss_do() -> None:
    assert verdict(2000) == "kept"
    assert verdict(1200, neither=800) == "kept"


def test_a_clear_loss_is_a_loss() -> None:
    assert verdict(1000, lost=200) == "lost"
    assert verdict(1000, lost=200, margin=0.5) == "kept"


def test_a_small_loss_among_few_is_not_resolved() -> None:
    assert verdict(150, lost=3, won=1) == "not resolved"


def test_a_gain_is_kept() -> None:
    assert verdict(1000, won=200) == "kept"


def test_retention_interval_holds_the_ratio() -> None:
    interval = retention_interval([1.0] * 80 + [0.0] * 20, [1.0] * 70 + [0.0] * 30)
    assert interval is not None
    assert interval.low < 70 / 80 < interval.high < 1


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (None, "not resolved"),
        (Interval(0.99, 1.2), "kept"),
        (Interval(0.9899, 1.2), "not resolved"),
        (Interval(0.5, 0.99), "not resolved"),
        (Interval(0.5, 0.9899), "lost"),
    ],
)
def test_verdict_boundaries(interval: Interval | None, expected: str) -> None:
    assert Estimate(0, None, interval).verdict(0.01) == expected


def test_mcnemar_equals_the_exact_binomial_test() -> None:
    for lost, won in itertools.product(range(13), repeat=2):
        if lost + won:
            expected = binomtest(lost, lost + won, 0.5).pvalue
            assert mcnemar(lost, won) == pytest.approx(expected, rel=1e-9), (lost, won)
            theirs = statsmodels_mcnemar([[3, lost], [won, 4]], exact=True).pvalue
            assert mcnemar(lost, won) == pytest.approx(theirs, rel=1e-9), (lost, won)
    assert mcnemar(40, 260) == pytest.approx(binomtest(40, 300, 0.5).pvalue, rel=1e-9)


def test_mcnemar_without_discordant_pairs_is_one() -> None:
    assert mcnemar(0, 0) == 1.0


@pytest.mark.parametrize(
    ("raw", "adjusted"),
    [
        ([], []),
        ([0.04], [0.04]),
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.02, 0.02, 0.02], [0.06, 0.06, 0.06]),
        ([0.6, 0.9], [1.0, 1.0]),
        ([0.0001, 0.0058, 0.0132, 0.0289, 0.0498], [0.0005, 0.0232, 0.0396, 0.0578, 0.0578]),
    ],
)
def test_holm_by_hand(raw: list[float], adjusted: list[float]) -> None:
    assert holm(raw) == pytest.approx(adjusted)


def test_holm_is_that_of_statsmodels() -> None:
    for family in np.random.default_rng(15).random((50, 7)) ** 3:
        assert holm(list(family)) == pytest.approx(multipletests(family, method="holm")[1])


def test_holm_errs_in_one_family_of_twenty() -> None:
    families = np.random.default_rng(14).random((4000, 8))
    errors = np.mean([min(holm(list(family))) < 0.05 for family in families])
    assert 0.04 <= errors <= 0.06


def test_mcnemar_of_many_discordant_pairs() -> None:
    assert mcnemar(700, 700) == pytest.approx(1.0)
    assert mcnemar(1, 2000) == pytest.approx(0.0, abs=1e-300)


def verdict_pairs(rng: np.random.Generator, n: int, right: float, lost: float, won: float) -> tuple:
    """Verdicts of a baseline that is right so often, of which the method loses and wins a share."""
    draw = rng.random(n)
    before = (draw < right).astype(float)
    after = np.where(draw < lost, 0.0, np.where(draw > 1 - won, 1.0, before))
    return before, after


@pytest.mark.slow
@pytest.mark.parametrize(("right", "discordant"), [(0.8, 0.04), (0.5, 0.10), (0.9, 0.02)])
def test_as_many_samples_as_planned_say_kept_as_often_as_planned(
    right: float, discordant: float
) -> None:
    rng = np.random.default_rng(11)
    n = 10_000
    both, half = round(n * (right - discordant / 2)), round(n * discordant / 2)
    pairs = Pairs(both, half, half, n - both - 2 * half)
    needed = samples_needed(pairs, 0.05, 0.8)
    kept = 0
    for _ in range(200):
        interval = retention_interval(
            *verdict_pairs(rng, needed, right, discordant / 2, discordant / 2)
        )
        kept += Estimate(0, None, interval).verdict(0.05) == "kept"
    assert 0.7 <= kept / 200 <= 0.9


@pytest.mark.slow
def test_a_loss_at_the_margin_is_seldom_called_kept() -> None:
    """True retention is 0.95, the margin 5 %: at most one run in twenty may say kept."""
    rng = np.random.default_rng(12)
    kept = 0
    for _ in range(1000):
        interval = retention_interval(*verdict_pairs(rng, 400, 0.8, 0.05, 0.01))
        kept += Estimate(0, None, interval).verdict(0.05) == "kept"
    assert kept / 1000 <= 0.05


@pytest.mark.slow
def test_intervals_of_retention_cover_the_truth() -> None:
    rng = np.random.default_rng(13)
    covered = 0
    for _ in range(EXPERIMENTS):
        interval = retention_interval(*verdict_pairs(rng, 200, 0.8, 0.05, 0.03))
        assert interval is not None
        covered += interval.low <= 0.78 / 0.8 <= interval.high
    assert 0.93 <= covered / EXPERIMENTS <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("right", [0.3, 0.7])
def test_intervals_of_accuracy_cover_the_truth(right: float) -> None:
    rng = np.random.default_rng(16)
    covered = 0
    for _ in range(EXPERIMENTS):
        interval = accuracy_interval(rng.random(164) < right)
        assert interval is not None
        covered += interval.low <= right <= interval.high
    assert 0.93 <= covered / EXPERIMENTS <= 0.97


def test_pairs_are_counted() -> None:
    assert Pairs.of([1, 1, 0, 0, 1], [1, 0, 1, 0, 1]) == (2, 1, 1, 1)


def test_smaller_margins_and_more_certainty_need_more_samples() -> None:
    pairs = Pairs(130, 5, 2, 27)
    needed = [samples_needed(pairs, margin, 0.8) for margin in (0.05, 0.02, 0.01)]
    assert needed == sorted(needed)
    assert samples_needed(pairs, 0.01, 0.9) > needed[-1]
    assert needed[-1] > 164  # HumanEval cannot resolve one per cent
