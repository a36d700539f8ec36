"""A head with the keys and values of what it has read, in buffers that never move."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from flybench.engine.eagle3.head import Attend, Eagle3Head
from flybench.engine.footprint import Footprint, stored_bytes
from flybench.engine.thin import thin_products


class HeadModel:
    """`head` for texts of up to `max_length` tokens (batch 1); each drafter reserves a room.

    Where it is `captured`, a draft is replayed as one CUDA graph.
    """

    def __init__(self, head: Eagle3Head, max_length: int, captured: bool) -> None:
        thin_products(head)
        self.head = head
        self.captured = captured
        self.device = head.fc.weight.device
        self._max_length = max_length
        self.slots = 0
        self._keys = self._values = torch.empty(0)

    def reserve(self, scratch: int) -> HeadModel:
        """The same head with buffers of its own, for so many tokens behind the longest text."""
        own, config = copy.copy(self), self.head.config
        own.slots = self._max_length + scratch
        shape = (1, config.key_heads, own.slots, config.head_dim)
        own._keys, own._values = (self.head.fc.weight.new_zeros(shape) for _ in range(2))
        return own

    @torch.inference_mode()
    def read(
        self, ids: Tensor, features: Tensor, positions: Tensor, slots: Tensor, seen: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Read ids [T] beside features [T, H]: the next features, and what `score` reads, [T, H].

        Their keys and values go to `slots` [T]; `seen` [T, live] says which of the first `live`
        slots each row reads.
        """
        attend = self._attend(slots, seen)
        following, normed = self.head(ids[None], features[None], positions[None], attend)
        return following[0], normed[0]

    def _attend(self, slots: Tensor, seen: Tensor) -> Attend:
        live = seen.shape[-1]

        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            self._keys.index_copy_(2, slots, key)
            self._values.index_copy_(2, slots, value)
            keys, values = self._keys[:, :, :live], self._values[:, :, :live]
            output = scaled_dot_product_attention(query, keys, values, seen, enable_gqa=True)
            return output.transpose(1, 2).flatten(2)

        return attend


def head_footprint(head: Eagle3Head) -> Footprint:
    """What a drafted token reads: the layer and the output, one row of the embeddings, the cache.

    `fc` is read once a round and left out.
    """
    config, table = head.config, head.embed_tokens.weight
    parts = (*head.layers.parameters(), *head.norm.parameters(), head.lm_head.weight)
    row = stored_bytes(table) // table.shape[0]
    return Footprint(
        weight_bytes=row + sum(stored_bytes(part) for part in parts),
        kv_bytes_per_token=2 * config.key_heads * config.head_dim * table.element_size(),
    )
