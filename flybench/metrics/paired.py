"""Paired estimates of a method against a baseline, on the samples that both finished.

All comparisons of two methods join their samples here and compare intervals with a threshold
by `Estimate.side`. In a joined table the baseline's columns are named NAME_ar.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from flybench.config.checks import MAX_COUNT
from flybench.metrics.stats import (
    Interval,
    Pairs,
    Side,
    bootstrap,
    rate_ratio,
    ratio,
    retention_interval,
    samples_to_exclude,
)
from flybench.metrics.suppression import LEVEL, solves_enough
from flybench.text import NBSP, interval, number, percent

RetentionVerdict = Literal["kept", "lost", "not resolved"]
NOT_RESOLVED: RetentionVerdict = "not resolved"
VERDICTS: dict[Side, RetentionVerdict] = {"above": "kept", "below": "lost", "open": NOT_RESOLVED}


class Estimate(NamedTuple):
    """A ratio over `n` paired samples with its interval; None where undefined."""

    n: int
    point: float | None
    interval: Interval | None
    level: float = LEVEL

    def side(self, bar: float) -> Side:
        """Return the side of `bar` that contains the interval; open without an interval."""
        return "open" if self.interval is None else self.interval.side(bar)

    def verdict(self, margin: float) -> RetentionVerdict:
        """Classify a retention: kept if it is at least 1 − `margin`, lost, or not resolved."""
        return VERDICTS[self.side(1 - margin)]

    def needed(self, bar: float) -> int:
        """Return the samples needed for the interval to exclude `bar` if `point` stays the same."""
        if self.point is None or self.interval is None:
            return MAX_COUNT
        return samples_to_exclude(self.n, self.point, self.interval, bar, level=self.level)

    def text(self, unit: str = "") -> str:
        """Format as ``1.23× [1.10, 1.36]`` or ``99.0 % [97.1, 100.9]``."""
        ends = interval(self.interval, 1, 100) if unit == "%" else interval(self.interval)
        return f"{_amount(self.point, unit)} {ends}".strip()

    def in_words(self, unit: str = "") -> str:
        """Format for a sentence, as ``1.23× (95 % interval 1.10 to 1.36)``."""
        note = "no interval"
        if self.interval is not None:
            ends = (_amount(end, unit.strip("×")) for end in self.interval)
            note = f"{self.level:.0%} interval {' to '.join(ends)}".replace("%", f"{NBSP}%", 1)
        return f"{_amount(self.point, unit)} ({note})"

    def brief(self) -> str:
        """Format with three significant digits, as ``0.987 [0.951, 1.02]``."""
        ends = "" if self.interval is None else f" {self.interval.brief()}"
        return number(None) if self.point is None else f"{self.point:.3g}{ends}"


def _amount(value: float | None, unit: str) -> str:
    return percent(value) if unit == "%" else f"{number(value)}{unit}"


def joined(baseline: pd.DataFrame, method: pd.DataFrame, every: bool = False) -> pd.DataFrame:
    """Join the samples that both methods finished; with `every`, those that either finished."""
    return baseline.join(method, how="outer" if every else "inner", lsuffix="_ar")


@dataclass(frozen=True, eq=False)
class Paired:
    """Samples of a baseline and of a method (`frames.sample_frame`), paired by sample id.

    Estimates have intervals at `level`.
    """

    baseline: pd.DataFrame
    method: pd.DataFrame
    level: float = LEVEL

    @cached_property
    def table(self) -> pd.DataFrame:
        """Samples that both finished, with columns `one` and `one_ar` of ones for counting."""
        return joined(self.baseline.assign(one=1.0), self.method.assign(one=1.0))

    def with_plain(self, other: Paired) -> pd.DataFrame:
        """Join with the samples of `other`, whose columns are named NAME_plain."""
        return self.table.join(other.table, rsuffix="_plain", how="inner")

    @cached_property
    def judged(self) -> pd.DataFrame:
        """Judged pairs, with columns `correct_ar` and `correct`."""
        return self.table[["correct_ar", "correct"]].dropna()

    @property
    def graded(self) -> bool:
        """True if a judge model graded the answers instead of a rule scoring right or wrong."""
        return any(frame["graded"].any() for frame in (self.baseline, self.method))

    @property
    def solved(self) -> float:
        """Sum of the baseline's scores over judged pairs."""
        return float(self.judged["correct_ar"].sum())

    @property
    def resolvable(self) -> bool:
        """True if the baseline solved enough samples for a meaningful retention."""
        return solves_enough(self.solved)

    def speedup(self) -> Estimate:
        """Speed-up in time to answer: the baseline's total time over the method's."""
        totals = self.table["total_s_ar"], self.table["total_s"]
        ends = bootstrap(lambda ar, own: ar / own, *totals, level=self.level)
        return Estimate(len(self.table), ratio(*totals), ends, self.level)

    def throughput(self) -> Estimate:
        """Speed-up in throughput: the method's tokens per second over the baseline's."""
        return rate_estimate(self.table, "tokens", "decode_s", self.level)

    def retention(self) -> Estimate:
        """The method's accuracy over the baseline's."""
        before, after = self.judged["correct_ar"], self.judged["correct"]
        ends = retention_interval(before, after, self.level)
        return Estimate(len(self.judged), ratio(after, before), ends, self.level)

    def discordant(self) -> Pairs | None:
        """Count judged pairs by outcome; None without judged pairs or for graded answers."""
        if self.graded or not len(self.judged):
            return None
        return Pairs.of(self.judged["correct_ar"], self.judged["correct"])

    def length_ratio(self) -> float | None:
        """Total tokens of the method over those of the baseline."""
        return ratio(self.table["tokens"], self.table["tokens_ar"])


def rate_estimate(table: pd.DataFrame, count: str, time: str, level: float = LEVEL) -> Estimate:
    """Ratio of the method's Σ count / Σ time to the baseline's, from a joined table."""
    columns = [table[name] for name in (f"{count}_ar", f"{time}_ar", count, time)]
    with np.errstate(divide="ignore", invalid="ignore"):  # undefined if no tokens were emitted
        point = float(rate_ratio(*(np.array(column.sum()) for column in columns)))
    finite = point if len(table) and np.isfinite(point) else None
    return Estimate(len(table), finite, bootstrap(rate_ratio, *columns, level=level), level)


def relation(table: pd.DataFrame, a: tuple[str, str], b: tuple[str, str]) -> Estimate:
    """Ratio of two ratios of sums: Σ b[0] / Σ b[1] over Σ a[0] / Σ a[1]."""
    columns = [table[name] for name in (*a, *b)]
    first, second = ratio(*columns[:2]), ratio(*columns[2:])
    point = second / first if first and second is not None else None
    return Estimate(len(table), point, bootstrap(rate_ratio, *columns))
