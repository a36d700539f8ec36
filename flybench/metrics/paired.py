"""Paired estimates: a method beside a baseline on the samples that both finished.

Everything that compares two methods joins their samples here, and asks the estimate on which side
of a bar its interval is. In a joined table the baseline's columns are named NAME_ar.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from flybench.config.checks import MANY
from flybench.metrics.stats import (
    Interval,
    Pairs,
    Side,
    bootstrap,
    rate_ratio,
    ratio,
    retention_interval,
    samples_apart,
)
from flybench.metrics.suppression import LEVEL, solves_enough
from flybench.text import NBSP, interval, number, percent

RetentionVerdict = Literal["kept", "lost", "not resolved"]
NOT_RESOLVED: RetentionVerdict = "not resolved"
VERDICTS: dict[Side, RetentionVerdict] = {"above": "kept", "below": "lost", "open": NOT_RESOLVED}


class Estimate(NamedTuple):
    """A ratio over `n` paired samples with its interval; None where the data give none."""

    n: int
    point: float | None
    interval: Interval | None
    level: float = LEVEL

    def side(self, bar: float) -> Side:
        """`Interval.side`; open without an interval."""
        return "open" if self.interval is None else self.interval.side(bar)

    def verdict(self, margin: float) -> RetentionVerdict:
        """Whether a retention is kept, that is, at least 1 − `margin`."""
        return VERDICTS[self.side(1 - margin)]

    def needed(self, bar: float) -> int:
        """Samples after which the interval would leave out `bar`, at the point as it is."""
        if self.point is None or self.interval is None:
            return MANY
        return samples_apart(self.n, self.point, self.interval, bar, level=self.level)

    def text(self, unit: str = "") -> str:
        """``1.23× [1.10, 1.36]`` or ``99.0 % [97.1, 100.9]``; without an interval the point."""
        ends = interval(self.interval, 1, 100) if unit == "%" else interval(self.interval)
        return f"{_amount(self.point, unit)} {ends}".strip()

    def words(self, unit: str = "") -> str:
        """``1.23× (95 % interval 1.10 to 1.36)``, for a sentence."""
        known = "no interval"
        if self.interval is not None:
            ends = (_amount(end, unit.strip("×")) for end in self.interval)
            known = f"{self.level:.0%} interval {' to '.join(ends)}".replace("%", f"{NBSP}%", 1)
        return f"{_amount(self.point, unit)} ({known})"

    def brief(self) -> str:
        """``0.987 [0.951, 1.02]``: three significant digits."""
        ends = "" if self.interval is None else f" {self.interval.brief()}"
        return number(None) if self.point is None else f"{self.point:.3g}{ends}"


def _amount(value: float | None, unit: str) -> str:
    return percent(value) if unit == "%" else f"{number(value)}{unit}"


def joined(baseline: pd.DataFrame, method: pd.DataFrame, every: bool = False) -> pd.DataFrame:
    """The samples that both finished, or with `every` that one of them did."""
    return baseline.join(method, how="outer" if every else "inner", lsuffix="_ar")


@dataclass(frozen=True, eq=False)
class Paired:
    """Samples of a baseline and of a method (`frames.sample_frame`), and intervals of `level`."""

    baseline: pd.DataFrame
    method: pd.DataFrame
    level: float = LEVEL

    @cached_property
    def table(self) -> pd.DataFrame:
        """The samples that both finished, with a `one` and a `one_ar` to count them by."""
        return joined(self.baseline.assign(one=1.0), self.method.assign(one=1.0))

    def beside(self, other: Paired) -> pd.DataFrame:
        """The samples of both tables; the `other`'s columns are named NAME_plain."""
        return self.table.join(other.table, rsuffix="_plain", how="inner")

    @cached_property
    def judged(self) -> pd.DataFrame:
        """The pairs that were judged: columns `correct_ar` and `correct`."""
        return self.table[["correct_ar", "correct"]].dropna()

    @property
    def graded(self) -> bool:
        """Whether a model graded an answer, instead of a rule that knows right from wrong."""
        return any(frame["graded"].any() for frame in (self.baseline, self.method))

    @property
    def solved(self) -> float:
        """Judged answers that the baseline got right, grades added up."""
        return float(self.judged["correct_ar"].sum())

    @property
    def resolvable(self) -> bool:
        """Whether the baseline solved enough for a retention to mean anything."""
        return solves_enough(self.solved)

    def speedup(self) -> Estimate:
        """The baseline's time to answer over the method's."""
        totals = self.table["total_s_ar"], self.table["total_s"]
        ends = bootstrap(lambda ar, own: ar / own, *totals, level=self.level)
        return Estimate(len(self.table), ratio(*totals), ends, self.level)

    def throughput(self) -> Estimate:
        """The method's tokens a second over the baseline's."""
        return rate_estimate(self.table, "tokens", "decode_s", self.level)

    def retention(self) -> Estimate:
        """The method's accuracy over the baseline's."""
        before, after = self.judged["correct_ar"], self.judged["correct"]
        ends = retention_interval(before, after, self.level)
        return Estimate(len(self.judged), ratio(after, before), ends, self.level)

    def discordant(self) -> Pairs | None:
        """The judged pairs by their outcome; None without any, or where a model graded."""
        if self.graded or not len(self.judged):
            return None
        return Pairs.of(self.judged["correct_ar"], self.judged["correct"])

    def length_ratio(self) -> float | None:
        """The method's tokens over the baseline's."""
        return ratio(self.table["tokens"], self.table["tokens_ar"])


def rate_estimate(table: pd.DataFrame, count: str, time: str, level: float = LEVEL) -> Estimate:
    """The method's Σ count ÷ Σ time over the baseline's, of a joined table."""
    columns = [table[name] for name in (f"{count}_ar", f"{time}_ar", count, time)]
    with np.errstate(divide="ignore", invalid="ignore"):  # nothing emitted: no figure
        point = float(rate_ratio(*(np.array(column.sum()) for column in columns)))
    known = point if len(table) and np.isfinite(point) else None
    return Estimate(len(table), known, bootstrap(rate_ratio, *columns, level=level), level)


def relation(table: pd.DataFrame, a: tuple[str, str], b: tuple[str, str]) -> Estimate:
    """Σ ÷ Σ of the columns `b` over that of the columns `a`."""
    columns = [table[name] for name in (*a, *b)]
    first, second = ratio(*columns[:2]), ratio(*columns[2:])
    point = second / first if first and second is not None else None
    return Estimate(len(table), point, bootstrap(rate_ratio, *columns))
