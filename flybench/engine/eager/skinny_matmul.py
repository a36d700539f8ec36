"""Skinny matrix multiplication on a CPU, as batched products with blocks of the weight.

MKL multiplies one to three rows by a weight at memory bandwidth on Intel CPUs; on other CPUs it
uses one thread for a single row. MKL is much slower for slightly more rows. A batched product
with blocks of the weight's rows uses all threads, which speeds up AR steps, draft steps and
verification passes. `python benchmarks/skinny_matmul.py` compares both for each number of rows.
"""

from __future__ import annotations

from functools import cache, partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from flybench.measure.environment import cpu_line

BLOCK = 32  # rows of a weight in one block
SMALLEST = 1 << 17  # elements of a weight; with fewer, blocks cost more than they save
# Numbers of input rows for which blocks are faster: on Intel's processors, on others with several
# threads, and on others with one.
INTEL, OTHERS, ONE_THREAD = range(4, 16), range(1, 65), range(2, 65)


def use_skinny_matmul(model: nn.Module) -> None:
    """Replace the forward of the plain fp32 linear layers of `model` on the CPU."""
    if not torch.backends.mkl.is_available():
        return
    for module in model.modules():
        if type(module) is nn.Linear and _suits(module.weight):
            module.forward = partial(skinny_linear, module, module.weight)  # type: ignore[method-assign]


def supported_row_counts() -> range:
    """Return the numbers of rows that are multiplied in blocks on this machine."""
    if _intel():
        return INTEL
    return OTHERS if torch.get_num_threads() > 1 else ONE_THREAD


@cache
def _intel() -> bool:
    return cpu_line("vendor_id") == "GenuineIntel"


def _suits(weight: Tensor) -> bool:
    # A quantised weight has its own type, and may report fp32.
    plain = type(weight) is nn.Parameter and weight.dtype == torch.float32
    fits = weight.is_contiguous() and weight.shape[0] % BLOCK == 0 and weight.numel() >= SMALLEST
    return plain and weight.device.type == "cpu" and fits


def skinny_linear(module: nn.Linear, weight: Tensor, x: Tensor) -> Tensor:
    """Apply `module` to x [..., K]; in blocks while `weight` [N, K] is its fp32 weight."""
    rows = x.shape[:-1].numel()
    same = module.weight is weight and weight.dtype == torch.float32
    if rows not in supported_row_counts() or not same:
        return F.linear(x, module.weight, module.bias)
    n, k = weight.shape
    count = n // BLOCK
    # `matmul` would copy x for every block.
    many = x.reshape(1, rows, k).expand(count, rows, k)
    product = torch.bmm(many, weight.view(count, BLOCK, k).mT)
    output = product.transpose(0, 1).reshape(*x.shape[:-1], n)
    return output if module.bias is None else output + module.bias
