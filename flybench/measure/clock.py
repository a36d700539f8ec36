"""Clock and peak memory, the same for every method."""

from __future__ import annotations

import resource
import sys
import time
from typing import cast

import torch

Mark = float | torch.cuda.Event


class Clock:
    """Monotonic seconds on the host, with device events for phases on CUDA.

    `now` synchronises with the device and is called only at the start and the end of a sample.
    `mark` does not, so phases inside a round cost no synchronisation.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def now(self) -> float:
        """Return the seconds after all queued work of the device has finished."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def mark(self) -> Mark:
        """Mark a point between two phases, to be passed to `seconds`."""
        if self.device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, start: Mark, end: Mark) -> float:
        """Return the seconds between two marks; on CUDA the device must have passed both."""
        if isinstance(start, float):
            return cast(float, end) - start
        return start.elapsed_time(cast(torch.cuda.Event, end)) / 1000


def reset_peak_memory(device: torch.device) -> None:
    """Reset the peak memory statistics of every GPU; without effect on a CPU."""
    if device.type == "cuda":
        for index in range(torch.cuda.device_count()):
            torch.cuda.reset_peak_memory_stats(index)


def peak_memory_bytes(device: torch.device) -> int:
    """Return the peak since the last reset over all GPUs, or that of the process on a CPU."""
    if device.type == "cuda":
        return sum(torch.cuda.max_memory_allocated(i) for i in range(torch.cuda.device_count()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
