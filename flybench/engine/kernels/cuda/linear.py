"""The Triton kernel behind `linear`: one program a block of output columns."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from flybench.engine.kernels.linear import ROW_TILE


@triton.jit
def _columns(
    x_ptr,
    w_ptr,
    b_ptr,
    y_ptr,
    rows,
    n,
    K: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEP: tl.constexpr,
    BIAS: tl.constexpr,
):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    row = tl.arange(0, ROWS)
    here = column < n
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, K, STEP):
        k = start + tl.arange(0, STEP)
        inside = k < K
        w = tl.load(
            w_ptr + column[:, None].to(tl.int64) * K + k[None, :],
            mask=here[:, None] & inside[None, :],
            other=0.0,
            eviction_policy="evict_first",
        )
        x = tl.load(
            x_ptr + row[:, None] * K + k[None, :],
            mask=(row < rows)[:, None] & inside[None, :],
            other=0.0,
        )
        total = tl.dot(x, tl.trans(w), total)
    if BIAS:
        total += tl.load(b_ptr + column, mask=here, other=0.0).to(tl.float32)[None, :]
    where = y_ptr + row[:, None] * n + column[None, :]
    tl.store(where, total.to(y_ptr.dtype.element_ty), mask=(row < rows)[:, None] & here[None, :])


def tiling(n: int, k: int) -> tuple[int, int, int, int]:
    """(columns, step, warps, stages) of a program, as measured fastest on an H100."""
    if k % 512 == 0:
        return 16, 512, 2, 4
    if k % 256 == 0:
        return 16, 256, 2, 6
    return 32, 128, 2, 3


def launch(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x [..., K] on CUDA with at most `MAX_ROWS` rows."""
    n, k = weight.shape
    rows = x.numel() // k
    y = torch.empty(*x.shape[:-1], n, device=x.device, dtype=x.dtype)
    columns, step, warps, stages = tiling(n, k)
    padded = max(ROW_TILE, triton.next_power_of_2(rows))
    if padded > ROW_TILE:
        columns, step = 32, 128
    _columns[(triton.cdiv(n, columns),)](
        x.contiguous(),
        weight,
        bias,
        y,
        rows,
        n,
        k,
        padded,
        columns,
        step,
        bias is not None,
        num_warps=warps,
        num_stages=stages,
    )
    return y
