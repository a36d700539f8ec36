"""The forward pass of a rewired model over static caches, for decoding and benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel

from flybench.core.drafts import RowStatistics, TargetView
from flybench.engine.eagle3.taps import joined
from flybench.engine.graph.layers import Cursor, install
from flybench.engine.kernels.row_statistics import row_statistics

SPLIT = 128  # a cache is a whole number of the attention kernel's splits


class PassOutput(NamedTuple):
    """Outputs of a pass after each token that it reads: fp32 logits [R, V] and their statistics.

    `taps` are hidden states [1, R, H] of the layers that are tapped.
    """

    logits: Tensor
    statistics: RowStatistics
    taps: tuple[Tensor, ...] = ()

    @classmethod
    def of(cls, logits: Tensor, taps: tuple[Tensor, ...] = ()) -> PassOutput:
        """Compute the statistics of logits [R, V] in the model's dtype."""
        return cls(logits.float(), row_statistics(logits), taps)

    def view(self, nodes: int) -> TargetView:
        """Return the view of a root and `nodes` from the first rows."""
        rows = nodes + 1
        statistics = RowStatistics(*(part[:rows] for part in self.statistics))
        taps = partial(joined, self.taps, rows) if self.taps else None
        return TargetView(self.logits[:rows], statistics, taps)


class StaticForward:
    """Passes of one model, which is rewired in place for `batch` texts of `max_length` tokens."""

    def __init__(
        self,
        model: PreTrainedModel,
        vocab_size: int,
        max_length: int,
        batch: int = 1,
        row_invariant: bool = True,
    ) -> None:
        self._model = model
        self._vocab_size = vocab_size
        # One more split, because a pass may be padded, and its padding is written after the text.
        self.slots = (-(-max_length // SPLIT) + 1) * SPLIT
        self._cursor = Cursor(torch.zeros(1, dtype=torch.long, device=model.device))
        # Any mask of four axes keeps transformers from building one.
        self._mask = torch.empty(1, 1, 1, 1, device=model.device)
        install(model, self._cursor, self.slots, batch, row_invariant)

    def logits(
        self,
        ids: Tensor,
        base: Tensor,
        positions: Tensor,
        rows: int,
        ancestors: Tensor | None = None,
    ) -> Tensor:
        """Return logits [B · rows, V] after the last `rows` of ids [B, T], in the model's dtype.

        The ids are written after `base` [1] filled slots. `positions` [T] differ from their slots
        in a tree, whose paths are `ancestors` [T, T].
        """
        self._cursor.base, self._cursor.ancestors = base, ancestors
        output = self._run(self._model, ids, positions, logits_to_keep=rows)
        logits: Tensor = output.logits.flatten(0, 1)
        return logits[:, : self._vocab_size]

    def read(self, ids: Tensor, base: Tensor, positions: Tensor) -> None:
        """Run the pass without logits, for a part of a prompt."""
        self._cursor.base, self._cursor.ancestors = base, None
        self._run(self._model.model, ids, positions)

    def caches(self) -> list[Tensor]:
        """Return the keys and values of every layer [B, KV, L, D]."""
        layers = [layer.forward.keywords["static"] for layer in self._model.model.layers]
        return [part for layer in layers for part in (layer.keys, layer.values)]

    def release(self) -> None:
        """Release the caches by installing the smallest ones; the model's layers refer to them."""
        install(self._model, self._cursor, SPLIT)

    def _run(self, model: Callable[..., Any], ids: Tensor, positions: Tensor, **more: Any) -> Any:
        return model(
            input_ids=ids,
            position_ids=positions[None],
            attention_mask=self._mask,
            use_cache=False,
            **more,
        )
