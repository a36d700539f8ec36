"""x Wᵀ + b for a few rows: a matrix is streamed once, as fast as memory gives it.

Above `MAX_ROWS` rows, and for types that the kernel does not serve, cuBLAS takes over.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

MAX_ROWS = 64
ROW_TILE = 16
HALF = (torch.bfloat16, torch.float16)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [..., K], weight [N, K], bias [N] → [..., N]."""
    rows = x.numel() // x.shape[-1]
    if x.device.type == "cuda" and rows <= MAX_ROWS and weight.dtype in HALF:
        return torch.ops.flybench.thin_linear(x, weight, bias)
    return F.linear(x, weight, bias)


@torch.library.custom_op("flybench::thin_linear", mutates_args=())
def thin_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`linear` for at most `MAX_ROWS` rows."""
    return F.linear(x, weight, bias)


@thin_linear.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return x.new_empty(*x.shape[:-1], weight.shape[0])


@thin_linear.register_kernel("cuda")
def _(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    from flybench.engine.kernels.cuda.linear import launch

    return launch(x, weight, bias)
