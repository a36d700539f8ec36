"""Timing of repeated calls on the harness's clock, with median and quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from flybench.distributed import from_leader
from flybench.measure.clock import Clock

# Total seconds of the timed calls of a measurement, beyond the minimum number of calls.
BUDGET_S = 60.0


class TimingStats(NamedTuple):
    """Seconds of repeated calls: median, 10th and 90th percentile."""

    median_s: float
    p10_s: float
    p90_s: float
    repeats: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> TimingStats:
        low, median, high = (float(value) for value in np.quantile(seconds, (0.1, 0.5, 0.9)))
        return cls(median, low, high, len(seconds))

    def plain(self) -> dict[str, Any]:
        """Return the values as a JSON object."""
        return self._asdict()


@dataclass(frozen=True)
class Effort:
    """Effort for one figure: `warmup` calls, then `least` to `most` timed ones.

    The first `least` calls determine how many fit in `seconds`. `rounds` is the number of timed
    rounds of decoding.
    """

    warmup: int
    least: int
    most: int
    seconds: float
    rounds: int

    def __str__(self) -> str:
        return (
            f"medians of {self.least} to {self.most} calls after {self.warmup} to warm up; "
            f"beyond {self.least} as many as fit in {self.seconds:.1f} s, a share of "
            f"{BUDGET_S:g} s"
        )


def effort(device_type: str, figures: int) -> Effort:
    """Return the effort for each of `figures` figures."""
    seconds = BUDGET_S / figures
    if device_type == "cuda":
        return Effort(warmup=3, least=10, most=30, seconds=seconds, rounds=32)
    return Effort(warmup=1, least=3, most=10, seconds=seconds, rounds=10)


def time_calls(work: Callable[[], object], clock: Clock, effort: Effort) -> TimingStats:
    """Time single calls, each between two marks: device events on CUDA, else the host's clock.

    Ranks that share a model make as many calls as rank 0.
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
    return TimingStats.of(seconds)
