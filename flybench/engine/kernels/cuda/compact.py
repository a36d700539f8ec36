"""The Triton kernel behind `Compaction`: one program per head of a layer's keys or values."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _gather(
    address_ptr,
    like_ptr,
    first_ptr,
    nodes_ptr,
    slots,
    COUNT: tl.constexpr,
    ROWS: tl.constexpr,
    D: tl.constexpr,
    WIDE: tl.constexpr,
):
    # Addresses have no type; that of the first cache is used.
    cache = tl.load(address_ptr + tl.program_id(0)).to(like_ptr.dtype)
    head = tl.program_id(1).to(tl.int64)
    first = tl.load(first_ptr)
    row = tl.arange(0, ROWS)
    width = tl.arange(0, WIDE)
    node = tl.load(nodes_ptr + row, mask=row < COUNT, other=0)
    inside = (row < COUNT)[:, None] & (width < D)[None, :]
    start = cache + head * slots * D + width[None, :]
    moved = tl.load(start + (first + node)[:, None] * D, mask=inside, other=0.0)
    tl.debug_barrier()  # every row is read before any is written
    tl.store(start + (first + row)[:, None] * D, moved, mask=inside)


def launch(addresses: Tensor, like: Tensor, first: Tensor, nodes: Tensor) -> None:
    """`Compaction` on CUDA, for caches at `addresses` [C] of the type and shape of `like`."""
    batch, heads, slots, d = like.shape
    _gather[(len(addresses), batch * heads)](
        addresses, like, first, nodes, slots,
        COUNT=len(nodes), ROWS=triton.next_power_of_2(len(nodes)), D=d,
        WIDE=triton.next_power_of_2(d), num_warps=4,
    )  # fmt: skip
