"""The Triton kernels behind `attend`: partial attention over splits of the cache, then a merge.

The new keys and values are read from the layer's output, and the first tile of each head writes
them to the cache, so no program waits for another.

A split beyond the filled slots costs one load. Tiles have 16 rows, and the length of splits depends
only on the cache, so the result of a row does not depend on other rows of the pass. Passes over a
prompt have enough rows to keep the GPU busy: they use tiles of 64, and one split for the cache.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

ROW_TILE = 16
# Passes of more tokens than this are prompts.
MAX_SPLIT = 64
PROMPT_TILE = PROMPT_BLOCK = 64
# Short splits keep more of the GPU busy, long ones leave less to merge.
SHORT_SPLIT, LONG_SPLIT = 64, 128
LONG_CACHE = 4096


@triton.jit
def _partial(
    q_ptr,
    new_k_ptr,
    new_v_ptr,
    k_ptr,
    v_ptr,
    base_ptr,
    tree_ptr,
    out_ptr,
    peak_ptr,
    mass_ptr,
    scale,
    window,
    softcap,
    slots,
    q_batch,
    q_head,
    q_row,
    k_batch,
    k_head,
    k_row,
    v_batch,
    v_head,
    v_row,
    NEW: tl.constexpr,
    GROUP: tl.constexpr,
    KV: tl.constexpr,
    D: tl.constexpr,
    WIDE: tl.constexpr,
    TILE: tl.constexpr,
    BLOCK: tl.constexpr,
    SPLIT: tl.constexpr,
    SOFTCAP: tl.constexpr,
    TREE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """One tile of rows of one key head over one split: unnormalised output, peak, mass."""
    head = tl.program_id(0)  # batch · KV + key head
    tile = tl.program_id(1)
    split = tl.program_id(2)
    base = tl.load(base_ptr).to(tl.int32)
    rank = tile * TILE + tl.arange(0, TILE)  # group member · NEW + new token
    token = rank % NEW
    width = tl.arange(0, WIDE)
    place = ((head * tl.num_programs(1) + tile) * tl.num_programs(2) + split) * TILE
    place += tl.arange(0, TILE)
    first = split * SPLIT
    end = tl.minimum(first + SPLIT, base + NEW)
    if window > 0:
        first = tl.maximum(first, (base - window + 1) // BLOCK * BLOCK)
    peak = tl.full((TILE,), -float("inf"), tl.float32)
    if first < end:
        batch = head // KV
        query_head = (head % KV) * GROUP + rank // NEW
        q_row_ptr = q_ptr + batch * q_batch + query_head * q_head + token * q_row
        inside = width < D
        q = tl.load(
            q_row_ptr[:, None] + width[None, :],
            mask=(rank < GROUP * NEW)[:, None] & inside[None, :],
            other=0.0,
        )
        here = (base + token)[:, None]
        mass = tl.zeros((TILE,), tl.float32)
        total = tl.zeros((TILE, WIDE), tl.float32)
        while first < end:
            slot = first + tl.arange(0, BLOCK)
            where = (head.to(tl.int64) * slots + slot)[:, None] * D + width[None, :]
            old = (slot < base)[:, None] & inside[None, :]
            new = ((slot >= base) & (slot < base + NEW))[:, None] & inside[None, :]
            fresh_k = new_k_ptr + batch * k_batch + (head % KV) * k_head + (slot - base) * k_row
            fresh_v = new_v_ptr + batch * v_batch + (head % KV) * v_head + (slot - base) * v_row
            k_new = tl.load(fresh_k[:, None] + width[None, :], mask=new, other=0.0)
            v_new = tl.load(fresh_v[:, None] + width[None, :], mask=new, other=0.0)
            k = tl.where(new, k_new, tl.load(k_ptr + where, mask=old, other=0.0))
            v = tl.where(new, v_new, tl.load(v_ptr + where, mask=old, other=0.0))
            if tile == 0:
                tl.store(k_ptr + where, k_new, mask=new)
                tl.store(v_ptr + where, v_new, mask=new)
            scores = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
            if SOFTCAP:
                scores = softcap * (2 * tl.sigmoid(2 * scores / softcap) - 1)  # tanh
            if TREE:
                path = tree_ptr + token[:, None] * NEW + (slot - base)[None, :]
                fresh = ((slot >= base) & (slot < base + NEW))[None, :]
                follows = tl.load(path, mask=fresh & (rank < GROUP * NEW)[:, None], other=0)
                seen = (slot < base)[None, :] | (follows != 0)
            else:
                seen = (slot[None, :] <= here) & ((window == 0) | (slot[None, :] > here - window))
            scores = tl.where(seen, scores, -float("inf"))
            higher = tl.maximum(peak, tl.max(scores, 1))
            safe = tl.where(higher == -float("inf"), 0.0, higher)
            weights = tl.exp(scores - safe[:, None])
            shrink = tl.exp(peak - safe)
            part = tl.dot(weights.to(v.dtype), v, input_precision=PRECISION)
            mass = mass * shrink + tl.sum(weights, 1)
            total = total * shrink[:, None] + part
            peak = higher
            first += BLOCK
        tl.store(out_ptr + place[:, None] * WIDE + width[None, :], total)
        tl.store(mass_ptr + place, mass)
    tl.store(peak_ptr + place, peak)


@triton.jit
def _merge(
    part_ptr,
    peak_ptr,
    mass_ptr,
    out_ptr,
    base_ptr,
    splits,
    NEW: tl.constexpr,
    GROUP: tl.constexpr,
    KV: tl.constexpr,
    D: tl.constexpr,
    WIDE: tl.constexpr,
    TILE: tl.constexpr,
    TILES: tl.constexpr,
    SPLIT: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """One row: the splits' outputs weighted by exp(peak), over their mass."""
    program = tl.program_id(0)
    head = program // (GROUP * NEW)
    rank = program % (GROUP * NEW)
    width = tl.arange(0, WIDE)
    first = (head * TILES + rank // TILE) * splits * TILE + rank % TILE
    live = tl.cdiv(tl.load(base_ptr).to(tl.int32) + NEW, SPLIT)
    peak = tl.full((), -float("inf"), tl.float32)
    mass = tl.full((), 0.0, tl.float32)
    total = tl.zeros((WIDE,), tl.float32)
    start = tl.full((), 0, tl.int32)
    while start < live:
        split = start + tl.arange(0, CHUNK)
        place = first + split * TILE
        peaks = tl.load(peak_ptr + place, mask=split < live, other=-float("inf"))
        filled = peaks > -float("inf")
        masses = tl.load(mass_ptr + place, mask=filled, other=0.0)
        parts = tl.load(
            part_ptr + place[:, None] * WIDE + width[None, :], mask=filled[:, None], other=0.0
        )
        higher = tl.maximum(peak, tl.max(peaks, 0))
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        weight = tl.exp(peaks - safe)
        shrink = tl.exp(peak - safe)
        mass = mass * shrink + tl.sum(weight * masses, 0)
        total = total * shrink + tl.sum(parts * weight[:, None], 0)
        peak = higher
        start += CHUNK
    batch = head // KV
    query_head = (head % KV) * GROUP + rank // NEW
    row = (batch * NEW + rank % NEW) * (KV * GROUP) + query_head
    result = (total / mass).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + row * D + width, result, mask=width < D)


def launch(
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
    """`attend` on CUDA."""
    batch, heads, new, d = query.shape
    kv, slots = keys.shape[1], keys.shape[2]
    prompt = new > MAX_SPLIT
    tile = PROMPT_TILE if prompt else ROW_TILE
    block = PROMPT_BLOCK if prompt else SHORT_SPLIT if slots <= LONG_CACHE else LONG_SPLIT
    split = triton.cdiv(slots, block) * block if prompt else block
    group, splits = heads // kv, triton.cdiv(slots, split)
    tiles, wide = triton.cdiv(group * new, tile), max(16, triton.next_power_of_2(d))
    query, key, value = (x if x.stride(3) == 1 else x.contiguous() for x in (query, key, value))
    rows = batch * kv * tiles * splits * tile
    part = torch.empty(rows, wide, device=query.device, dtype=torch.float32)
    peak, mass = torch.empty(2, rows, device=query.device, dtype=torch.float32).unbind(0)
    out = torch.empty(batch, new, heads, d, device=query.device, dtype=query.dtype)
    precision = "ieee" if query.dtype == torch.float32 else "tf32"
    _partial[(batch * kv, tiles, splits)](
        query, key, value, keys, values, base,
        None if ancestors is None else ancestors.view(torch.uint8),
        part, peak, mass, scale, window, softcap, slots,
        *query.stride()[:3], *key.stride()[:3], *value.stride()[:3],
        NEW=new, GROUP=group, KV=kv, D=d, WIDE=wide, TILE=tile, BLOCK=block, SPLIT=split,
        SOFTCAP=softcap > 0, TREE=ancestors is not None, PRECISION=precision, num_warps=4,
    )  # fmt: skip
    _merge[(batch * kv * group * new,)](
        part, peak, mass, out, base, splits,
        NEW=new, GROUP=group, KV=kv, D=d, WIDE=wide, TILE=tile, TILES=tiles, SPLIT=split,
        CHUNK=16, num_warps=4,
    )  # fmt: skip
    return out
