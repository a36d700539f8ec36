"""Compilation as on CUDA, but only traced, so that it can be counted without a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
import torch


@contextmanager
def traced(module: ModuleType) -> Iterator[list[str]]:
    """What `module` compiles: each graph that torch.compile finds adds a name."""
    graphs: list[str] = []
    compiled = torch.compile

    def backend(graph: Any, example: Any, **options: Any) -> Callable[..., Any]:
        graphs.append("graph")
        return graph.forward

    torch._dynamo.reset()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "compiles", lambda device: True)
        patch.setattr(torch, "compile", lambda work, **how: compiled(work, backend=backend, **how))
        yield graphs
    torch._dynamo.reset()
