"""Reading memory: a rate that a machine can have, in little time, and nothing left behind."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from flybench.measure import roofline as bandwidth
from flybench.measure.roofline import multiply_rate, read_bandwidth

CPU = torch.device("cpu")


def test_a_cpu_reads_gigabytes_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bandwidth.BUFFER_BYTES, "cpu", 512 << 20)
    start = time.perf_counter()
    rate = read_bandwidth(CPU)
    assert rate is not None
    assert 1e8 < rate < 1e13
    # A second on an idle machine; the rest is room for a busy one.
    assert time.perf_counter() - start < 10


def test_a_small_memory_is_not_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bandwidth, "free_bytes", lambda device: 64 << 20)
    read: list[int] = []
    monkeypatch.setattr(torch, "ones", _watched(torch.ones, read))
    assert read_bandwidth(CPU) is not None
    assert 4 * max(read) <= 16 << 20


def _watched(make: Callable[..., torch.Tensor], read: list[int]) -> Callable[..., torch.Tensor]:
    def ones(*shape: int, **options: Any) -> torch.Tensor:
        read.append(math.prod(shape))
        return make(*shape, **options)

    return ones


def test_an_unknown_device_is_not_measured() -> None:
    assert read_bandwidth(torch.device("meta")) is None
    assert multiply_rate(torch.device("meta"), torch.float32) is None


def test_a_cpu_multiplies_billions_a_second() -> None:
    rate = multiply_rate(CPU, torch.float32)
    assert rate is not None
    assert 1e8 < rate < 1e15


def test_operations_are_two_a_multiply_add(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bandwidth.MATRIX_SIDE, "cpu", 10)
    monkeypatch.setattr(bandwidth, "_best", lambda device, work: 4.0)
    assert multiply_rate(CPU, torch.bfloat16) == 2 * 10**3 / 4
