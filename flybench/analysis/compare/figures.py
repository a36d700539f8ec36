"""Metrics of two runs over their shared samples, with paired bootstrap intervals."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from flybench.analysis.compare.sides import ComparedRun
from flybench.config import BASELINE
from flybench.metrics.divergence import first_divergences
from flybench.metrics.paired import Estimate, Paired, relation
from flybench.metrics.stats import Interval, Pairs, ratio
from flybench.metrics.suppression import solves_enough

TO_ANSWER, OVER_AR = "seconds to answer", "speed-up over AR, to answer"
AR_ITSELF = "AR's seconds to answer"


class ComparedFigure(NamedTuple):
    """A figure of A and of B over `n` samples, and their ratio with its interval.

    A `ratio` above 1 means that B is faster or has the larger figure.
    """

    n: int
    a: float | None
    b: float | None
    ratio: float | None = None
    interval: Interval | None = None

    @property
    def estimate(self) -> Estimate:
        """Return the ratio with its interval."""
        return Estimate(self.n, self.ratio, self.interval)


class Accuracy(NamedTuple):
    """Accuracy of A and of B on the `n` samples that were scored in both runs.

    `right_a` and `right_b` are the numbers of right answers, or sums of grades. `pairs` and `p`, of
    McNemar's test, are None for grades.
    """

    n: int
    right_a: float
    right_b: float
    retention: ComparedFigure
    pairs: Pairs | None
    p: float | None

    @property
    def resolvable(self) -> bool:
        """Return whether A solved enough samples for a ratio."""
        return solves_enough(self.right_a) and self.retention.interval is not None


class Divergence(NamedTuple):
    """Number of `n` answers with equal ids, and the median index of the first differing token.

    `ties` counts first differences at a near tie of A's two best tokens.
    """

    n: int
    equal: int
    median_place: float | None
    ties: int


def times(a: ComparedRun, b: ComparedRun) -> dict[str, ComparedFigure]:
    """Return seconds to the answer and tokens per second.

    If both runs have AR, return the speed-ups over it as well. They cancel differences between
    machines, and between states of the same machine.
    """
    pair, plain = Paired(a.samples, b.samples), Paired(a.plain.samples, b.plain.samples)
    found = {
        TO_ANSWER: _seconds(pair.table),
        "tokens/s": _related(pair.table, "tokens", "decode_s"),
    }
    four = pair.with_plain(plain)
    if len(four) and (a.method, b.method) != (BASELINE, BASELINE):
        ours, theirs = ("total_s_ar_plain", "total_s_ar"), ("total_s_plain", "total_s")
        found[OVER_AR] = _figure(four, ours, theirs, relation(four, ours, theirs))
        found[AR_ITSELF] = _seconds(plain.table.loc[four.index])
    return found


def counts(a: ComparedRun, b: ComparedRun) -> dict[str, ComparedFigure]:
    """Return tokens per round and per answer, truncated answers, loops and loose tokens."""
    table = Paired(a.samples, b.samples).table
    return {
        "tau, tokens a round": _related(table, "tokens", "rounds"),
        "tokens an answer": _related(table, "tokens", "one"),
        "answers cut, of 100": _rate(table, 100, "capped", "one"),
        "tokens in loops, of 100": _rate(table, 100, "looped", "tokens"),
        "loose tokens of 1,000": _rate(table, 1000, "loose", "tokens"),
    }


def _seconds(table: pd.DataFrame) -> ComparedFigure:
    """Return seconds to the answer of both, and A's ÷ B's, because less is better."""
    ours, theirs = ("total_s_ar", "one_ar"), ("total_s", "one")
    return _figure(table, ours, theirs, relation(table, theirs, ours))


def _related(table: pd.DataFrame, above: str, below: str) -> ComparedFigure:
    """Return Σ above ÷ Σ below of both, and B's ÷ A's."""
    ours, theirs = (f"{above}_ar", f"{below}_ar"), (above, below)
    return _figure(table, ours, theirs, relation(table, ours, theirs))


def _rate(table: pd.DataFrame, scale: int, counted: str, among: str) -> ComparedFigure:
    """Return `counted` per `scale` of `among` for both; events this rare have no useful ratio."""
    a, b = (ratio(scale * table[f"{counted}{s}"], table[f"{among}{s}"]) for s in ("_ar", ""))
    return ComparedFigure(len(table), a, b)


def _figure(
    table: pd.DataFrame, a: tuple[str, str], b: tuple[str, str], found: Estimate
) -> ComparedFigure:
    first, second = (ratio(table[above], table[below]) for above, below in (a, b))
    return ComparedFigure(found.n, first, second, found.point, found.interval)


def accuracy(a: ComparedRun, b: ComparedRun) -> Accuracy | None:
    """Return the accuracy over samples scored in both runs; None without any."""
    pair = Paired(a.samples, b.samples)
    if not len(pair.judged):
        return None
    before, after = pair.judged["correct_ar"], pair.judged["correct"]
    kept, pairs = pair.retention(), pair.discordant()
    shares = float(before.mean()), float(after.mean())
    return Accuracy(
        n=kept.n,
        right_a=pair.solved,
        right_b=float(after.sum()),
        retention=ComparedFigure(kept.n, *shares, kept.point, kept.interval),
        pairs=pairs,
        p=None if pairs is None else pairs.p,
    )


def divergence(a: ComparedRun, b: ComparedRun) -> Divergence:
    """Return the divergence of B's ids from A's."""
    found = first_divergences(a.samples, b.samples)
    parted = found["diverged_at"].dropna()
    median = float(parted.median()) if len(parted) else None
    return Divergence(len(found), len(found) - len(parted), median, int(found["tie"].sum()))
