"""A captured computation and what it may not outlive. CUDA itself is checked on a card."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from flybench.engine.graph.capture import Replay, capture


class Graph:
    """Stands in for a CUDA graph, which knows addresses and keeps nothing alive."""

    def replay(self) -> None: ...


def test_a_replay_keeps_what_its_work_reads() -> None:
    tensor = torch.zeros(3)
    seen = weakref.ref(tensor)

    def work(read: torch.Tensor = tensor) -> torch.Tensor:
        return read + 1

    graph: Any = Graph()
    replay = Replay(graph, work, work())
    del tensor, work
    assert seen() is not None
    assert replay().tolist() == [1, 1, 1]
    del replay
    assert seen() is None


def test_elsewhere_the_same_outputs_are_refilled() -> None:
    source = torch.zeros(2)
    again = capture(lambda: (source + 1, None), torch.device("cpu"))
    first, _ = again()
    source.fill_(4)
    second, _ = again()
    assert first is second
    assert first.tolist() == [5, 5]
