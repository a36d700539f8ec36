"""Capture of a computation on static buffers, replayed with one launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch.utils._pytree import tree_map

T = TypeVar("T")


@dataclass(frozen=True)
class Replay(Generic[T]):
    """A captured graph with the tensors of `work` and `output`, whose addresses it uses."""

    graph: torch.cuda.CUDAGraph
    work: Callable[[], T]
    output: T

    def __call__(self) -> T:
        self.graph.replay()
        return self.output


def compiles(device: torch.device) -> bool:
    """Return whether work is compiled before it is captured, which it is only on CUDA."""
    return device.type == "cuda"


@torch.no_grad()
def capture(work: Callable[[], T], device: torch.device) -> Callable[[], T]:
    """Capture `work` as a CUDA graph; each call replays it and refills the same output tensors.

    `work` must use only tensors with static addresses, must not synchronise with the device, and
    returns tensors in tuples. On other devices than CUDA it is called directly, with the same
    contract for its outputs.
    """
    return _captured(work, device) if device.type == "cuda" else _repeated(work)


def _captured(work: Callable[[], T], device: torch.device) -> Callable[[], T]:
    side = torch.cuda.Stream(device)
    side.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(side):
        for _ in range(2):  # compile, then make one-time allocations
            work()
    torch.cuda.current_stream(device).wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    # Check only this thread's calls: NCCL's watchdog thread makes its own CUDA calls.
    with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
        output = work()

    return Replay(graph, work, output)


def _repeated(work: Callable[[], T]) -> Callable[[], T]:
    def fixed(tensor: object) -> object:
        return tensor.clone() if isinstance(tensor, torch.Tensor) else tensor

    output = tree_map(fixed, work())

    def refill(old: object, new: object) -> None:
        if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
            old.copy_(new)

    @torch.no_grad()
    def again() -> T:
        tree_map(refill, output, work())
        return output

    return again
