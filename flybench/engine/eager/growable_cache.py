"""A KV cache with spare capacity: a pass copies only its own tokens.

Transformers' dynamic cache concatenates old and new keys at every pass, which copies all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

# Spare tokens, absolute and as a fraction of the length, which keeps the number of copies small.
MIN_ROOM = 256
ROOM = 0.25


class GrowableLayer(DynamicLayer):
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
    return like.new_empty(*outer, tokens + max(int(tokens * ROOM), MIN_ROOM), width)


def _put(buffers: Sequence[Tensor], start: int, tokens: Sequence[Any]) -> None:
    for buffer, part in zip(buffers, tokens, strict=True):
        buffer[..., start : start + part.shape[-2], :] = part


def growable_cache() -> DynamicCache:
    """Return an empty cache of `GrowableLayer`s."""
    cache = DynamicCache()
    cache.layer_class_to_replicate = GrowableLayer
    return cache
