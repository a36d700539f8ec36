"""One model at one batch size on the graph engine, to be costed (`flybench.engine.bench`)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from transformers import PreTrainedModel

from flybench.engine.graph.capture import capture
from flybench.engine.graph.layers import Cursor, install
from flybench.engine.graph.model import SPLIT, Rows
from flybench.engine.kernels.rows import row_statistics


class GraphBench:
    """A cache of `context` tokens a text, and captured passes that all write behind them.

    The cache holds zeros, which cost as much to read as anything.
    """

    def __init__(self, model: PreTrainedModel, vocab_size: int, context: int, batch: int) -> None:
        self._model = model
        self._vocab_size = vocab_size
        self._batch = batch
        self._base = torch.tensor([context], device=model.device)
        # Any mask of four axes keeps transformers from building one.
        self._mask = torch.empty(1, 1, 1, 1, device=model.device)
        self._cursor = Cursor(self._base)
        # As much longer than the text as a cache that serves decoding.
        install(model, self._cursor, (-(-context // SPLIT) + 1) * SPLIT, batch)

    def step(self, width: int) -> Callable[[], Rows]:
        device = self._model.device
        ids = torch.zeros(self._batch, width, dtype=torch.long, device=device)
        ahead = torch.arange(width, device=device)

        def work() -> Rows:
            output = self._model(
                input_ids=ids,
                position_ids=(self._base + ahead)[None],
                attention_mask=self._mask,
                use_cache=False,
                logits_to_keep=width,
            )
            logits = output.logits.flatten(0, 1)[:, : self._vocab_size]
            return Rows(logits.float(), row_statistics(logits))

        return capture(work, device)

    def close(self) -> None:
        """The model's layers hold the cache, so they are given the smallest one instead."""
        install(self._model, self._cursor, SPLIT)
