"""Attention of a head's layer over keys and values [1, KV, L, D] in static buffers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from flybench.engine.kernels.attention import attend


@dataclass(frozen=True)
class CausalAttention:
    """Causal attention: the new tokens are written after `base` [1] others."""

    keys: Tensor
    values: Tensor
    base: Tensor

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scale = query.shape[-1] ** -0.5
        output = attend(query, key, value, self.keys, self.values, self.base, scale, 0, 0.0)
        return output.flatten(2)


@dataclass(frozen=True)
class TreeAttention:
    """Tree attention: the new tokens are written to `slots` [T]; `seen` [T, live] is the mask."""

    keys: Tensor
    values: Tensor
    slots: Tensor
    seen: Tensor

    @classmethod
    def behind(cls, keys: Tensor, values: Tensor, slots: Tensor, live: int) -> TreeAttention:
        """`CausalAttention` over at most `live` slots, which is cheaper if nothing is captured."""
        return cls(keys, values, slots, torch.arange(live, device=slots.device) <= slots[:, None])

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        live = self.seen.shape[-1]
        self.keys.index_copy_(2, self.slots, key)
        self.values.index_copy_(2, self.slots, value)
        keys, values = self.keys[:, :, :live], self.values[:, :, :live]
        output = scaled_dot_product_attention(query, keys, values, self.seen, enable_gqa=True)
        return output.transpose(1, 2).flatten(2)
