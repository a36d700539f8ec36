"""The Triton kernels behind `linear`: one program per block of output columns."""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

ROW_TILE = 16


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
    program = tl.program_id(0)
    column = program * COLUMNS + tl.arange(0, COLUMNS)
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


@triton.jit
def _single_row(
    x_ptr,
    w_ptr,
    b_ptr,
    y_ptr,
    n,
    K: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEP: tl.constexpr,
    BIAS: tl.constexpr,
):
    """Plain multiply and add: no row is padded for the tensor cores, so programs can be small."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    here = column < n
    total = tl.zeros((COLUMNS, STEP), tl.float32)
    for start in range(0, K, STEP):
        k = start + tl.arange(0, STEP)
        w = tl.load(
            w_ptr + column[:, None].to(tl.int64) * K + k[None, :],
            mask=here[:, None] & (k < K)[None, :],
            other=0.0,
            eviction_policy="evict_first",
        )
        x = tl.load(x_ptr + k, mask=k < K, other=0.0)
        total += w.to(tl.float32) * x.to(tl.float32)[None, :]
    y = tl.sum(total, 1)
    if BIAS:
        y += tl.load(b_ptr + column, mask=here, other=0.0).to(tl.float32)
    tl.store(y_ptr + column, y.to(y_ptr.dtype.element_ty), mask=here)


class Tiling(NamedTuple):
    """A program's output columns, its step along K, and how many steps are in flight."""

    columns: int
    step: int
    stages: int
    warps: int = 2


def tiling(n: int, k: int, rows: int) -> Tiling:
    """The fastest of a few choices on an H100 by shape; short sums need short steps."""
    if rows > ROW_TILE:
        return Tiling(32, 128, 3)
    if k <= 2048 < n:
        return Tiling(16, 128, 3) if n > 8192 else Tiling(16, 512, 3)
    return Tiling(16, 256, 4) if k <= 1536 else Tiling(16, 512, 3)


# Few columns a program: many small programs keep the memory busy.
SINGLE_ROW_COLUMNS = 2
SINGLE_ROW_STEP = 2048


def launch_single_row(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`linear` on CUDA for x [..., K] of one row."""
    n, k = weight.shape
    y = torch.empty(*x.shape[:-1], n, device=x.device, dtype=x.dtype)
    step = min(SINGLE_ROW_STEP, triton.next_power_of_2(k))
    _single_row[(triton.cdiv(n, SINGLE_ROW_COLUMNS),)](
        x.contiguous(), weight, bias, y, n,
        K=k, COLUMNS=SINGLE_ROW_COLUMNS, STEP=step, BIAS=bias is not None,
        num_warps=8 if step == SINGLE_ROW_STEP else 4,
    )  # fmt: skip
    return y


def launch(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`linear` on CUDA for x [..., K] of a few rows."""
    n, k = weight.shape
    rows = x.numel() // k
    y = torch.empty(*x.shape[:-1], n, device=x.device, dtype=x.dtype)
    tile = tiling(n, k, rows)
    _columns[(triton.cdiv(n, tile.columns),)](
        x.contiguous(), weight, bias, y, rows, n,
        K=k, ROWS=max(ROW_TILE, triton.next_power_of_2(rows)),
        COLUMNS=tile.columns, STEP=tile.step, BIAS=bias is not None,
        num_warps=tile.warps, num_stages=tile.stages,
    )  # fmt: skip
    return y
