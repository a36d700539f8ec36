"""A cache whose buffers outgrow the text, so that a pass copies its own tokens and no others.

Transformers' dynamic cache joins old and new keys at every pass, which copies the whole text for
each token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

# Tokens of room beyond what is needed, and as a share of it: copies stay few in a text of any size.
LEAST_ROOM = 256
ROOM = 0.25


class GrowingLayer(DynamicLayer):
    """`keys` and `values` [B, KV, T, D] are the filled parts of larger buffers."""

    _buffers: tuple[Tensor, Tensor] | None = None

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        old, new = (self.keys, self.values), (key_states, value_states)
        if self._buffers is None or end > self._buffers[0].shape[-2]:
            self._buffers = (_room(key_states, end), _room(value_states, end))
            if start:
                _put(self._buffers, 0, old)
        _put(self._buffers, start, new)
        self.keys, self.values = (buffer[..., :end, :] for buffer in self._buffers)
        return self.keys, self.values


def _room(like: Tensor, tokens: int) -> Tensor:
    *outer, _, width = like.shape
    return like.new_empty(*outer, tokens + max(int(tokens * ROOM), LEAST_ROOM), width)


def _put(buffers: Sequence[Tensor], start: int, tokens: Sequence[Any]) -> None:
    for buffer, part in zip(buffers, tokens, strict=True):
        buffer[..., start : start + part.shape[-2], :] = part


def growing_cache() -> DynamicCache:
    """An empty cache of `GrowingLayer`s, one for each layer that asks for it."""
    cache = DynamicCache()
    cache.layer_class_to_replicate = GrowingLayer
    return cache
