"""The figures of two runs over their shared samples, with paired bootstrap intervals."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from flybench.analysis.compare.sides import Side
from flybench.config import BASELINE
from flybench.metrics.divergence import partings
from flybench.metrics.stats import (
    Interval,
    Pairs,
    bootstrap,
    mcnemar,
    rate_ratio,
    ratio,
    retention_interval,
)
from flybench.metrics.suppression import FEWEST

TO_ANSWER, OVER_AR = "seconds to answer", "speed-up over AR, to answer"
AR_ITSELF = "AR's seconds to answer"


class Figure(NamedTuple):
    """A figure of A and of B over `n` samples, and how they relate: above 1 is more of it in B, or
    faster."""

    n: int
    a: float | None
    b: float | None
    ratio: float | None = None
    interval: Interval | None = None


class Accuracy(NamedTuple):
    """Verdicts on the `n` samples judged in both; `pairs` and `p` are None where a model graded.

    `solved` counts the answers that A got right, grades added up.
    """

    n: int
    right_a: float
    right_b: float
    retention: Figure
    pairs: Pairs | None
    p: float | None

    @property
    def resolvable(self) -> bool:
        """Whether A solved enough for a ratio to mean anything."""
        return self.right_a >= FEWEST and self.retention.interval is not None


class Divergence(NamedTuple):
    """How many of `n` answers are the same ids, and the median first token that differs."""

    n: int
    equal: int
    median_place: float | None
    ties: int


def times(a: Side, b: Side) -> dict[str, Figure]:
    """Seconds to the answer and tokens a second; and beside each run's own AR, where both have it.

    The speed-ups over AR leave out what differs between the machines, or between two hours of one.
    """
    both = _joined(a.samples, b.samples)
    found = {
        TO_ANSWER: _related(both, "total_s", "one", inverse=True),
        "tokens/s": _related(both, "tokens", "decode_s"),
    }
    plain = _joined(a.plain, b.plain)
    four = both.join(plain, rsuffix="_ar", how="inner")
    if len(four) and (a.method, b.method) != (BASELINE, BASELINE):
        ours, theirs = ("total_s_a_ar", "total_s_a"), ("total_s_b_ar", "total_s_b")
        found[OVER_AR] = _relation(four, ours, theirs)
        found[AR_ITSELF] = _related(plain.loc[four.index], "total_s", "one", inverse=True)
    return found


def counts(a: Side, b: Side) -> dict[str, Figure]:
    """Tokens a round and an answer, answers that end at the cap, loops, and what only a loose rule
    kept."""
    both = _joined(a.samples, b.samples)
    return {
        "tau, tokens a round": _related(both, "tokens", "rounds"),
        "tokens an answer": _related(both, "tokens", "one"),
        "answers cut, of 100": _rate(both, 100, "capped", "one"),
        "tokens in loops, of 100": _rate(both, 100, "looped", "tokens"),
        "loose tokens of 1,000": _rate(both, 1000, "loose", "tokens"),
    }


def _joined(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """Samples of both, columns as NAME_a and NAME_b, and a `one` to count them by."""
    return a.assign(one=1.0).join(b.assign(one=1.0), lsuffix="_a", rsuffix="_b", how="inner")


def _related(table: pd.DataFrame, above: str, below: str, inverse: bool = False) -> Figure:
    """Σ above ÷ Σ below on both sides, B's over A's, or A's over B's where less is better."""
    a, b = ((f"{above}_{side}", f"{below}_{side}") for side in "ab")
    figure = _relation(table, *((b, a) if inverse else (a, b)))
    return figure._replace(a=figure.b, b=figure.a) if inverse else figure


def _rate(table: pd.DataFrame, scale: int, counted: str, among: str) -> Figure:
    """`counted` in so many `among` on both sides; they are few, and make no ratio."""
    a, b = (ratio(scale * table[f"{counted}_{s}"], table[f"{among}_{s}"]) for s in "ab")
    return Figure(len(table), a, b)


def _relation(table: pd.DataFrame, a: tuple[str, str], b: tuple[str, str]) -> Figure:
    columns = [table[name] for name in (*a, *b)]

    first, second = ratio(*columns[:2]), ratio(*columns[2:])
    times = second / first if first and second is not None else None
    return Figure(len(table), first, second, times, bootstrap(rate_ratio, *columns))


def accuracy(a: Side, b: Side) -> Accuracy | None:
    """The verdicts over samples that were judged in both; None if there are none."""
    columns = ["correct", "graded"]
    judged = a.samples[columns].join(b.samples[columns], lsuffix="_a", rsuffix="_b", how="inner")
    judged = judged.dropna()
    if not len(judged):
        return None
    before, after = judged["correct_a"], judged["correct_b"]
    graded = bool(judged["graded_a"].any() or judged["graded_b"].any())
    pairs = None if graded else Pairs.of(before, after)
    shares = float(before.mean()), float(after.mean())
    return Accuracy(
        n=len(judged),
        right_a=float(before.sum()),
        right_b=float(after.sum()),
        retention=Figure(
            len(judged), *shares, ratio(after, before), retention_interval(before, after)
        ),
        pairs=pairs,
        p=None if pairs is None else mcnemar(pairs.lost, pairs.won),
    )


def divergence(a: Side, b: Side) -> Divergence:
    """Where B's ids part from A's."""
    found = partings(a.samples, b.samples)
    parted = found["place"].dropna()
    median = float(parted.median()) if len(parted) else None
    return Divergence(len(found), len(found) - len(parted), median, int(found["tie"].sum()))
