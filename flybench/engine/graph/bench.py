"""Benchmark of a model at one batch size on the graph engine (see `flybench.engine.cost.bench`)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from transformers import PreTrainedModel

from flybench.engine.graph.capture import capture
from flybench.engine.graph.forward import PassOutput, StaticForward


class GraphBench:
    """A cache of `context` tokens per text, and captured passes that write after them.

    The cache is filled with zeros, which cost as much to read as other values.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        vocab_size: int,
        context: int,
        batch: int,
        row_invariant: bool = True,
    ) -> None:
        self._device = model.device
        self._batch = batch
        self._base = torch.tensor([context], device=model.device)
        self._forward = StaticForward(model, vocab_size, context, batch, row_invariant)

    def step(self, width: int) -> Callable[[], PassOutput]:
        ids = torch.zeros(self._batch, width, dtype=torch.long, device=self._device)
        ahead = torch.arange(width, device=self._device)

        def work() -> PassOutput:
            return PassOutput.of(self._forward.logits(ids, self._base, self._base + ahead, width))

        return capture(work, self._device)

    def close(self) -> None:
        self._forward.release()
