"""x Wᵀ + b for a few rows, streaming the matrix once at memory bandwidth.

An output row does not depend on the other rows: a token's result is bitwise identical alone and in
a draft. A single row can be faster without this guarantee. cuBLAS is used above `MAX_ROWS` rows and
for types that the kernels do not support.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

MAX_ROWS = 64
ROW_TILE = 16
HALF = (torch.bfloat16, torch.float16)


def linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, row_invariant: bool = True
) -> Tensor:
    """x [..., K], weight [N, K], bias [N] → [..., N]."""
    rows = x.numel() // x.shape[-1]
    if x.device.type != "cuda" or rows > MAX_ROWS or weight.dtype not in HALF:
        return F.linear(x, weight, bias)
    if rows == 1 and not row_invariant:
        return torch.ops.flybench.single_row_linear(x, weight, bias)
    return torch.ops.flybench.skinny_linear(x, weight, bias)


@torch.library.custom_op("flybench::skinny_linear", mutates_args=())
def skinny_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`linear` for at most `MAX_ROWS` rows."""
    return F.linear(x, weight, bias)


@torch.library.custom_op("flybench::single_row_linear", mutates_args=())
def single_row_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`linear` for one row, which may differ from the row of a larger product."""
    return F.linear(x, weight, bias)


@skinny_linear.register_fake
@single_row_linear.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return x.new_empty(*x.shape[:-1], weight.shape[0])


@skinny_linear.register_kernel("cuda")
def _(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    from flybench.engine.kernels.cuda.linear import launch

    return launch(x, weight, bias)


@single_row_linear.register_kernel("cuda")
def _(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    from flybench.engine.kernels.cuda.linear import launch_single_row

    return launch_single_row(x, weight, bias)
