"""Forward-pass times of one model by width, context and batch size, with two lower bounds.

One axis is varied at a time, starting from a base point.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import torch

from flybench.analysis.latency.pair import TimedModel, TimedPair
from flybench.analysis.latency.timing import Effort, TimingStats, time_calls
from flybench.distributed import from_leader
from flybench.engine.cost.bench import Bench, open_bench
from flybench.engine.graph.capture import compiles
from flybench.measure.clock import Clock, reset_peak_memory
from flybench.measure.roofline import free_bytes, multiply_rate, read_bandwidth

CONTEXT = 256
WIDTHS = (2, 4, 8, 16, 32, 64)
# The last one leaves room for the new token in a model of 8192 tokens.
CONTEXTS = (1024, 4096, 8191)
BATCHES = (4, 16, 32)


@dataclass(frozen=True)
class PassShape:
    """A pass over `width` tokens in each of `batch` texts with `context` tokens."""

    varied: str
    width: int = 1
    context: int = CONTEXT
    batch: int = 1


BASE = PassShape("base")


def points(k: int) -> list[PassShape]:
    """Return the base point, then every axis; widths include that of a draft of `k` tokens."""
    widths = sorted({*WIDTHS, k + 1} - {1})
    return [
        BASE,
        *(PassShape("width", width=width) for width in widths),
        *(PassShape("context", context=context) for context in CONTEXTS),
        *(PassShape("batch", batch=batch) for batch in BATCHES),
    ]


Row = dict[str, Any]
MEASURED = (*TimingStats._fields, "memory_bytes")
TOO_LARGE = "does not fit in memory"


@dataclass(frozen=True)
class Rates:
    """Rates of the machine: bytes read and operations done per second; None where unknown."""

    read: float | None
    multiply: float | None

    @classmethod
    def of(cls, device: torch.device, dtype: torch.dtype) -> Rates:
        return cls(read_bandwidth(device), multiply_rate(device, dtype))


@dataclass(frozen=True)
class PassTimer:
    """Times the passes of one model of a pair."""

    costed: TimedModel
    pair: TimedPair
    rates: Rates
    clock: Clock
    effort: Effort

    def rows(self, points: Sequence[PassShape], tick: Callable[[], object]) -> list[Row]:
        """Return one row for each point, in order; a point that does not fit has a `note` and no
        time."""
        if compiles(self.costed.model.device):
            torch._dynamo.reset()  # the number of compiled passes per process is limited
        found: list[Row] = []
        # Points with the same cache are grouped: the graph engine compiles for every new cache.
        for _, group in groupby(points, lambda point: (point.context, point.batch)):
            found += self._same_cache(list(group), tick)
            release()
        return found

    def _same_cache(self, points: Sequence[PassShape], tick: Callable[[], object]) -> list[Row]:
        found = []
        bench: Bench | None = None
        memory = Memory(self.costed)
        for point in points:
            row = {"model": self.costed.role} | asdict(point) | dict.fromkeys(MEASURED)
            row |= floors(self.costed, point, self.rates)
            reason = skip_reason(self.costed, self.pair, point, opened=bench is not None)
            row["note"] = from_leader(reason)  # ranks measure the same points
            if row["note"] is None:
                try:
                    bench = bench or self._open(point)
                    row |= time_calls(bench.step(point.width), self.clock, self.effort).plain()
                    row["memory_bytes"] = memory.peak()
                except torch.OutOfMemoryError:
                    row["note"] = TOO_LARGE
            found.append(row)
            tick()
        if bench is not None:
            bench.close()
        return found

    def _open(self, point: PassShape) -> Bench:
        engine, model = self.pair.engine, self.costed.model
        # As in `on_engine`: a draft model does not need row-invariant results.
        row_invariant = engine.row_invariant and self.costed.role == "target"
        size = (self.pair.vocab_size, point.context, point.batch)
        return open_bench(engine.kind, model, *size, row_invariant)


class Memory:
    """Peak memory of one model since this instance was created."""

    def __init__(self, costed: TimedModel) -> None:
        self._device = costed.model.device
        self._own: int = costed.facts["resident_bytes"]
        reset_peak_memory(self._device)
        self._before = torch.cuda.memory_allocated(self._device) if self._counted else 0

    @property
    def _counted(self) -> bool:
        return self._device.type == "cuda"

    def peak(self) -> int | None:
        """Return the peak bytes; None if the device does not count them."""
        if not self._counted:
            return None
        return self._own + torch.cuda.max_memory_allocated(self._device) - self._before


def floors(costed: TimedModel, point: PassShape, rates: Rates) -> Row:
    """Return the minimum seconds of a pass by bytes and by operations, and the one that binds."""
    work = costed.model_work.of_pass(point.width, point.context, point.batch)
    by_bytes, by_operations = (
        need / rate if need is not None and rate else None
        for need, rate in ((work.bytes, rates.read), (work.operations, rates.multiply))
    )
    binds = None
    if by_bytes is not None and by_operations is not None:
        binds = "bytes" if by_bytes >= by_operations else "operations"
    return {"bytes_floor_s": by_bytes, "operations_floor_s": by_operations, "binds": binds}


def skip_reason(costed: TimedModel, pair: TimedPair, point: PassShape, opened: bool) -> str | None:
    """Return the reason why a pass cannot be measured; None if it can be tried.

    `opened` is True if its cache exists already.
    """
    tokens = point.context + point.width
    if tokens > costed.context_limit:
        return f"longer than the model's {costed.context_limit} tokens"
    # The eager engine's cache grows by copying, so two copies exist for a moment.
    copies = 1 if pair.engine.kind == "graph" else 2
    needed = copies * costed.model_work.cache_bytes(tokens, point.batch)
    fits = opened or needed <= free_bytes(costed.model.device)
    return None if fits else TOO_LARGE


def release() -> None:
    """Free the memory of the last bench; models and their rewired layers are reference cycles."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
