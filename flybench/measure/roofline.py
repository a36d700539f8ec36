"""Roofline of a device: its memory bandwidth and its matrix multiplication rate."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil
import torch

# Larger than any cache, much smaller than the memory; a CPU reads it in less than 0.1 s.
BUFFER_BYTES = {"cuda": 2 << 30, "cpu": 512 << 20}
MATRIX_SIDE = {"cuda": 8192, "cpu": 1536}
REPEATS = 3


def read_bandwidth(device: torch.device) -> float | None:
    """Return the bytes per second of reading one large fp32 buffer; None for unknown devices.

    It is the best of several readings, by the faster of a sum and a matrix-vector product. One GPU
    is measured even if a model is spread over several, because they run one after another for each
    token.
    """
    if device.type not in BUFFER_BYTES:
        return None
    size = min(BUFFER_BYTES[device.type], free_bytes(device) // 4)
    # Written once: untouched pages of a CPU's memory are all the same page.
    buffer = torch.ones(size // (4 * 4096), 4096, device=device)
    vector = torch.ones(4096, device=device)
    seconds = min(_best(device, buffer.sum), _best(device, lambda: torch.mv(buffer, vector)))
    rate = buffer.nbytes / seconds
    if device.type == "cuda":
        del buffer
        torch.cuda.empty_cache()
    return rate


def multiply_rate(device: torch.device, dtype: torch.dtype) -> float | None:
    """Return the operations per second, two for a multiply-add, of one large square product in
    `dtype`.

    It is the best of several; None for unknown devices.
    """
    if device.type not in MATRIX_SIDE:
        return None
    side = MATRIX_SIDE[device.type]
    left, right = torch.randn(2, side, side, device=device).to(dtype)
    return 2 * side**3 / _best(device, lambda: torch.mm(left, right))


def _best(device: torch.device, read: Callable[[], object]) -> float:
    """Return the seconds of the fastest of a few calls, after one to warm up."""
    if device.type != "cuda":
        read()
        return min(_host_seconds(read) for _ in range(REPEATS))
    with torch.cuda.device(device):  # events mark the current GPU's work
        read()
        return min(_device_seconds(read) for _ in range(REPEATS))


def _host_seconds(read: Callable[[], object]) -> float:
    start = time.perf_counter()
    read()
    return time.perf_counter() - start


def _device_seconds(read: Callable[[], object]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    read()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1000


def free_bytes(device: torch.device) -> int:
    """Return the free bytes of a GPU, or of the memory of the machine."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return psutil.virtual_memory().available
