"""A rewired model's forward pass over caches of fixed size: what decoding and costing share."""

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
from flybench.engine.kernels.rows import row_statistics

SPLIT = 128  # a cache is a whole number of the attention kernel's splits


class Rows(NamedTuple):
    """What a pass computes after each token it reads: fp32 logits [R, V] and their statistics.

    `taps` are hidden states [1, R, H] of the layers that are tapped.
    """

    logits: Tensor
    statistics: RowStatistics
    taps: tuple[Tensor, ...] = ()

    @classmethod
    def of(cls, logits: Tensor, taps: tuple[Tensor, ...] = ()) -> Rows:
        """From logits [R, V] in the model's own type."""
        return cls(logits.float(), row_statistics(logits), taps)

    def view(self, nodes: int) -> TargetView:
        """What the first rows say of a root and `nodes`."""
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
        # One split more, because a pass may be padded, and its padding lands behind the text.
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
        """Logits [B · rows, V] after the last `rows` of ids [B, T], in the model's own type.

        `base` [1] slots are filled and the ids take those behind; they stand at `positions` [T],
        which in a tree, whose paths are in `ancestors` [T, T], are others.
        """
        self._cursor.base, self._cursor.ancestors = base, ancestors
        output = self._run(self._model, ids, positions, logits_to_keep=rows)
        logits: Tensor = output.logits.flatten(0, 1)
        return logits[:, : self._vocab_size]

    def read(self, ids: Tensor, base: Tensor, positions: Tensor) -> None:
        """The same pass without logits: a part of a prompt, from which nothing is predicted."""
        self._cursor.base, self._cursor.ancestors = base, None
        self._run(self._model.model, ids, positions)

    def caches(self) -> list[Tensor]:
        """The keys and values of every layer [B, KV, L, D]."""
        layers = [layer.forward.keywords["static"] for layer in self._model.model.layers]
        return [part for layer in layers for part in (layer.keys, layer.values)]

    def release(self) -> None:
        """Let go of the caches: the model's layers hold them, so they get the smallest instead."""
        install(self._model, self._cursor, SPLIT)

    def _run(self, model: Callable[..., Any], ids: Tensor, positions: Tensor, **more: Any) -> Any:
        return model(
            input_ids=ids,
            position_ids=positions[None],
            attention_mask=self._mask,
            use_cache=False,
            **more,
        )
