"""Attention of a few new tokens over a static cache, including the update of the cache.

The cache is longer than the text. `base`, a tensor on the device, is the number of filled slots;
the new tokens are written after them, and only the filled part is read.
"""

from __future__ import annotations

import torch
from torch import Tensor


@torch.library.custom_op("flybench::attend", mutates_args=("keys", "values"))
def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keys: Tensor,
    values: Tensor,
    base: Tensor,
    scale: float,
    window: int,
    softcap: float,
    ancestors: Tensor | None = None,
) -> Tensor:
    """query [B, H, T, D], key and value [B, KV, T, D], keys and values [B, KV, L, D], base [1].

    Writes key and value to slots `base`, `base` + 1, …, and returns [B, T, H, D]. Row t sees the
    slots up to `base` + t, the last `window` of them if `window` > 0. `softcap` > 0 bends scores s
    to softcap · tanh(s / softcap), as Gemma 2 does. In a tree row t sees, of the new tokens, those
    of its row of `ancestors` [T, T] bool; then `window` is 0.
    """
    here = base + torch.arange(query.shape[2], device=query.device)
    keys.index_copy_(2, here, key)
    values.index_copy_(2, here, value)
    slot = torch.arange(keys.shape[2], device=query.device)[None, :]
    if ancestors is None:
        seen = slot <= here[:, None]
    else:
        seen = (slot < base).expand(len(here), -1).index_copy(1, here, ancestors)
    if window:
        seen = seen & (slot > here[:, None] - window)
    return masked_attention(query, keys, values, seen, scale, softcap)


@attend.register_fake
def _(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keys: Tensor,
    values: Tensor,
    base: Tensor,
    scale: float,
    window: int,
    softcap: float,
    ancestors: Tensor | None = None,
) -> Tensor:
    batch, heads, new, width = query.shape
    return query.new_empty(batch, new, heads, width)


@attend.register_kernel("cuda")
def _(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keys: Tensor,
    values: Tensor,
    base: Tensor,
    scale: float,
    window: int,
    softcap: float,
    ancestors: Tensor | None = None,
) -> Tensor:
    from flybench.engine.kernels.cuda.attention import launch

    return launch(query, key, value, keys, values, base, scale, window, softcap, ancestors)


def masked_attention(
    query: Tensor, keys: Tensor, values: Tensor, seen: Tensor, scale: float, softcap: float
) -> Tensor:
    """Attention with a full mask and fp32 scores: seen [T, L] bool → [B, T, H, D]."""
    groups = query.shape[1] // keys.shape[1]
    keys, values = (x.repeat_interleave(groups, 1).float() for x in (keys, values))
    scores = query.float() @ keys.transpose(2, 3) * scale
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    weights = scores.masked_fill(~seen, float("-inf")).softmax(-1)
    return (weights @ values).to(query.dtype).transpose(1, 2).contiguous()
