"""Benchmark of one model at one batch size and context; only benchmarks use batches > 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast

import torch
from transformers import PreTrainedModel

from flybench.core.drafts import RowStatistics
from flybench.engine.eager.model import EagerModel
from flybench.engine.graph.bench import GraphBench
from flybench.engine.graph.forward import PassOutput


class Bench(Protocol):
    """A model with `context` cached tokens in each of `batch` texts."""

    def step(self, width: int) -> Callable[[], PassOutput]:
        """Return a pass over `width` tokens of each text; its rows are those of all texts in turn.
        It can be repeated, because it is rolled back.
        """

    def close(self) -> None:
        """Release the cache; the passes can no longer be called."""


class EagerBench(EagerModel):
    """A `Bench` on the eager engine."""

    def __init__(self, model: PreTrainedModel, vocab_size: int, context: int, batch: int) -> None:
        super().__init__(model, vocab_size)
        self._batch, self._context = batch, context
        self._fill()

    @torch.inference_mode()
    def _fill(self) -> None:
        """Fill the cache with the keys and values of one token; costs do not depend on them."""
        self.read(torch.zeros(self._batch, 1, dtype=torch.long, device=self.device), 1)
        for layer in cast(Any, self._cache).layers:
            layer.update(
                *(part.repeat(1, 1, self._context - 1, 1) for part in (layer.keys, layer.values))
            )
        self._length = self._context

    def step(self, width: int) -> Callable[[], PassOutput]:
        ids = torch.zeros(self._batch, width, dtype=torch.long, device=self.device)

        def work() -> PassOutput:
            logits = self.read(ids, width).flatten(0, 1)
            self.rollback(self._context)
            return PassOutput(logits, RowStatistics.of(logits))

        return work

    def close(self) -> None:
        self.reset()


def open_bench(
    kind: str,
    model: PreTrainedModel,
    vocab_size: int,
    context: int,
    batch: int,
    row_invariant: bool = True,
) -> Bench:
    """Return a bench on the engine `kind`; on the graph engine it replaces the model's caches."""
    if kind == "graph":
        return GraphBench(model, vocab_size, context, batch, row_invariant)
    return EagerBench(model, vocab_size, context, batch)
