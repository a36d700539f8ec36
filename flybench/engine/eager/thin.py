"""Products of a few rows on a CPU, in blocks of the weight.

MKL multiplies one row by a weight about as fast as memory delivers the weight on Intel's
processors, there two and three as well; on others it leaves that row to one thread. More rows it
multiplies much more slowly. A batch of products with blocks of the weight's rows does the same work
on all threads and with less delay, and with it the steps of AR and of a draft and the passes that
verify one. `python benchmarks/thin.py` compares both ways for every number of rows.
"""

from __future__ import annotations

from functools import cache, partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from flybench.measure.clock import cpu_line

BLOCK = 32  # rows of a weight that are multiplied at a time
SMALLEST = 1 << 17  # numbers of a weight; below, blocks cost a single row more than they save
# Numbers of rows of the input for which blocks are faster: on Intel's processors, on others with
# several threads, and there with one.
INTEL, OTHERS, ALONE = range(4, 16), range(1, 65), range(2, 65)


def thin_products(model: nn.Module) -> None:
    """Let the plain fp32 linear layers of `model` on the CPU multiply a few rows in blocks."""
    if not torch.backends.mkl.is_available():
        return
    for module in model.modules():
        if type(module) is nn.Linear and _suits(module.weight):
            module.forward = partial(thin_linear, module, module.weight)  # type: ignore[method-assign]


def worth_it() -> range:
    """The numbers of rows that are multiplied in blocks on this machine."""
    if _intel():
        return INTEL
    return OTHERS if torch.get_num_threads() > 1 else ALONE


@cache
def _intel() -> bool:
    return cpu_line("vendor_id") == "GenuineIntel"


def _suits(weight: Tensor) -> bool:
    # A quantised weight is of a type of its own, and may call itself fp32.
    plain = type(weight) is nn.Parameter and weight.dtype == torch.float32
    fits = weight.is_contiguous() and weight.shape[0] % BLOCK == 0 and weight.numel() >= SMALLEST
    return plain and weight.device.type == "cpu" and fits


def thin_linear(module: nn.Linear, weight: Tensor, x: Tensor) -> Tensor:
    """What `module` makes of x [..., K]; in blocks while `weight` [N, K] is its own, and fp32."""
    rows = x.shape[:-1].numel()
    same = module.weight is weight and weight.dtype == torch.float32
    if rows not in worth_it() or not same:
        return F.linear(x, module.weight, module.bias)
    n, k = weight.shape
    count = n // BLOCK
    # Not `matmul`, which would copy x for every block.
    many = x.reshape(1, rows, k).expand(count, rows, k)
    product = torch.bmm(many, weight.view(count, BLOCK, k).mT)
    output = product.transpose(0, 1).reshape(*x.shape[:-1], n)
    return output if module.bias is None else output + module.bias
