"""A head with a KV cache in static buffers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from flybench.engine.cost.footprint import Footprint, stored_bytes
from flybench.engine.eager.skinny_matmul import use_skinny_matmul
from flybench.engine.eagle3.attention import CausalAttention, TreeAttention
from flybench.engine.eagle3.head import Attend, Eagle3Head
from flybench.engine.graph.capture import compiles
from flybench.engine.graph.forward import SPLIT
from flybench.engine.graph.layers import run_module
from flybench.engine.graph.linears import rewire_linears
from flybench.engine.kernels.linear import MAX_ROWS


class HeadModel:
    """`head` for texts of up to `max_length` tokens (batch 1); each drafter reserves buffers.

    If `captured`, a draft is replayed as one CUDA graph. `head` is rewired in place.
    """

    def __init__(self, head: Eagle3Head, max_length: int, captured: bool) -> None:
        self.head = head
        self.captured = captured
        self.device = head.fc.weight.device
        self.slots = 0
        self._max_length = max_length
        self._keys = self._values = torch.empty(0)
        self._run: Callable[..., tuple[Tensor, Tensor]] = run_module
        self._predict = Eagle3Head.predict
        if captured:
            rewire_linears(head, row_invariant=False)
        else:
            use_skinny_matmul(head)
        if captured and compiles(self.device):
            fuse = partial(torch.compile, fullgraph=True, dynamic=False)
            self._run, self._predict = fuse(run_module), fuse(Eagle3Head.predict)

    def reserve(self, scratch: int) -> HeadModel:
        """Return the head with its own buffers, for so many tokens after the longest text."""
        own, config = copy.copy(self), self.head.config
        own.slots = -(-(self._max_length + scratch) // SPLIT) * SPLIT
        shape = (1, config.key_heads, own.slots, config.head_dim)
        own._keys, own._values = (self.head.fc.weight.new_zeros(shape) for _ in range(2))
        return own

    def read(self, ids: Tensor, features: Tensor, base: Tensor, live: int) -> tuple[Tensor, Tensor]:
        """Run ids [T] with features [T, H] after `base` [1] others, all in `live` slots. Returns
        the next features and the inputs of `predict` and the head's `score`, [T, H].
        """
        slots = base + torch.arange(len(ids), device=self.device)
        if self.captured:
            return self._pass(ids, features, slots, CausalAttention(self._keys, self._values, base))
        attend = TreeAttention.behind(self._keys, self._values, slots, live)
        return self._pass(ids, features, slots, attend)

    def read_level(
        self, ids: Tensor, features: Tensor, positions: Tensor, slots: Tensor, seen: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Run nodes of a tree at `positions` [T].

        Keys and values are written to `slots` [T]; `seen` [T, live] masks the first `live` slots.
        """
        attend = TreeAttention(self._keys, self._values, slots, seen)
        return self._pass(ids, features, positions, attend)

    @torch.inference_mode()
    def _pass(
        self, ids: Tensor, features: Tensor, positions: Tensor, attend: Attend
    ) -> tuple[Tensor, Tensor]:
        # A piece of a prompt is compute enough; compiling it would only delay the start.
        run = self._run if len(ids) <= MAX_ROWS else run_module
        following, normed = run(self.head, ids[None], features[None], positions[None], attend)
        return following[0], normed[0]

    def predict(self, normed: Tensor) -> Tensor:
        """Return the top-1 id of the target's vocabulary for each row [T, H]."""
        return self._predict(self.head, normed)


def head_footprint(head: Eagle3Head) -> Footprint:
    """Bytes read for a draft token: layer, output layer, one row of the embeddings, and cache.

    `fc` is read once a round and not included.
    """
    config, table = head.config, head.embed_tokens.weight
    parts = (*head.layers.parameters(), *head.norm.parameters(), head.lm_head.weight)
    row = stored_bytes(table) // table.shape[0]
    return Footprint(
        weight_bytes=row + sum(stored_bytes(part) for part in parts),
        kv_bytes_per_token=2 * config.key_heads * config.head_dim * table.element_size(),
    )
