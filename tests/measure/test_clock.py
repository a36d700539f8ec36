"""The clock and the peak memory."""

from __future__ import annotations

import time

import torch

from flybench.measure.clock import Clock, peak_memory_bytes, reset_peak_memory

CPU = torch.device("cpu")


def test_the_clock_only_goes_forward() -> None:
    clock = Clock(CPU)
    times = [clock.now() for _ in range(100)]
    assert times == sorted(times)
    marks = [clock.mark() for _ in range(100)]
    assert all(clock.seconds(a, b) >= 0 for a, b in zip(marks, marks[1:], strict=False))


def test_the_clock_counts_seconds() -> None:
    clock = Clock(CPU)
    now, mark = clock.now(), clock.mark()
    time.sleep(0.05)
    assert 0.05 <= clock.now() - now < 5
    assert 0.05 <= clock.seconds(mark, clock.mark()) < 5


def test_marks_and_now_share_one_time_on_the_cpu() -> None:
    clock = Clock(CPU)
    before, mark, after = clock.now(), clock.mark(), clock.now()
    assert isinstance(mark, float)
    assert before <= mark <= after


def test_peak_memory_of_the_process_counts_bytes() -> None:
    reset_peak_memory(CPU)
    before = peak_memory_bytes(CPU)
    block = torch.ones(60_000_000 // 4)
    assert before > 10_000_000
    assert peak_memory_bytes(CPU) >= before
    del block
    assert peak_memory_bytes(CPU) >= before
