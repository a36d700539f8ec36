"""Repeated calls on the harness's clock, and how they spread."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from flybench.distributed import from_leader
from flybench.measure.clock import Clock

# Seconds that all timed calls of a measurement may take together, beyond the least number of them.
BUDGET_S = 60.0


class Spread(NamedTuple):
    """Seconds of repeated calls: the median, and the values that 10 % lie below and above."""

    median_s: float
    p10_s: float
    p90_s: float
    repeats: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Spread:
        low, median, high = (float(value) for value in np.quantile(seconds, (0.1, 0.5, 0.9)))
        return cls(median, low, high, len(seconds))

    def plain(self) -> dict[str, Any]:
        """As a JSON object."""
        return self._asdict()


@dataclass(frozen=True)
class Effort:
    """How much is spent on one figure: `warmup` calls, then `least` to `most` timed ones.

    There are as many as `seconds` allow, by the first `least`. `rounds` of decoding are timed.
    """

    warmup: int
    least: int
    most: int
    seconds: float
    rounds: int

    def __str__(self) -> str:
        return (
            f"medians of {self.least} to {self.most} calls after {self.warmup} to warm up; "
            f"past {self.least} as many as fit in {self.seconds:.1f} s, its share of "
            f"{BUDGET_S:g} s"
        )


def effort(device_type: str, figures: int) -> Effort:
    """What a measurement of so many figures can spend on each."""
    seconds = BUDGET_S / figures
    if device_type == "cuda":
        return Effort(warmup=3, least=10, most=30, seconds=seconds, rounds=32)
    return Effort(warmup=1, least=3, most=10, seconds=seconds, rounds=10)


def time_calls(work: Callable[[], object], clock: Clock, effort: Effort) -> Spread:
    """Time single calls, each between two marks: device events on CUDA, else the host's clock.

    Ranks that share a model call as often as rank 0 does.
    """
    for _ in range(effort.warmup):
        work()
    clock.now()

    def once() -> float:
        start = clock.mark()
        work()
        end = clock.mark()
        clock.now()
        return clock.seconds(start, end)

    seconds = [once() for _ in range(effort.least)]
    affordable = math.ceil(effort.seconds / max(float(np.median(seconds)), 1e-9))
    more = min(affordable, effort.most) - effort.least
    seconds += [once() for _ in range(from_leader(more))]
    return Spread.of(seconds)
