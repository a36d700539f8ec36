"""Products of a few rows on a CPU, in blocks of the weight.

MKL multiplies one row by a weight about as fast as memory delivers the weight, on Intel's
processors two and three as well, and more rows much more slowly. A batch of products with blocks of
the weight's rows does the same work with less delay, and with it the verification of a draft.
`python benchmarks/thin.py` compares both ways for every number of rows.
"""

from __future__ import annotations

from functools import cache, partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from flybench.measure import cpu_line

BLOCK = 32  # rows of a weight that are multiplied at a time
# Numbers of rows of the input for which blocks are faster, on Intel's processors and on others.
INTEL, OTHERS = range(4, 16), range(2, 65)


def thin_products(model: nn.Module) -> None:
    """Let the plain fp32 linear layers of `model` on the CPU multiply a few rows in blocks."""
    if not torch.backends.mkl.is_available():
        return
    for module in model.modules():
        if type(module) is nn.Linear and _suits(module.weight):
            module.forward = partial(thin_linear, module)  # type: ignore[method-assign]


@cache
def worth_it() -> range:
    """The numbers of rows that are multiplied in blocks on this machine."""
    return INTEL if cpu_line("vendor_id") == "GenuineIntel" else OTHERS


def _suits(weight: Tensor) -> bool:
    # A quantised weight is of a type of its own, and may call itself fp32.
    plain = type(weight) is nn.Parameter and weight.dtype == torch.float32
    return plain and weight.device.type == "cpu" and weight.shape[0] % BLOCK == 0


def thin_linear(module: nn.Linear, x: Tensor) -> Tensor:
    """What `module` makes of x [..., K]."""
    weight, bias = module.weight, module.bias
    rows = x.shape[:-1].numel()
    if rows not in worth_it() or not _suits(weight):
        return F.linear(x, weight, bias)
    blocks = weight.unflatten(0, (-1, BLOCK)).transpose(1, 2)
    product = torch.matmul(x.reshape(1, rows, -1), blocks).transpose(0, 1)
    output = product.reshape(*x.shape[:-1], weight.shape[0])
    return output if bias is None else output + bias
