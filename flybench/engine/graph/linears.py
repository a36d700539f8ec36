"""Linear layers for few rows: a skinny-matrix kernel, and fused projections."""

from __future__ import annotations

from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

from flybench.engine.kernels.linear import linear

PROJECTIONS = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))


class SkinnyLinear(nn.Module):
    """`nn.Linear` through the kernel for few rows, sharing the tensors of the original."""

    def __init__(self, linear: nn.Linear, row_invariant: bool) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        self._row_invariant = row_invariant

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias, self._row_invariant)


class FusedLinear(nn.Module):
    """Several projections of one input as one product; see `FusedSlice`."""

    def __init__(self, linears: list[nn.Linear], row_invariant: bool) -> None:
        super().__init__()
        self.row_invariant = row_invariant
        weight = torch.cat([part.weight.data for part in linears])
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.bias = None
        if linears[0].bias is not None:
            bias = torch.cat([part.bias.data for part in linears])
            self.bias = nn.Parameter(bias, requires_grad=False)
        self.product: Tensor | None = None


class FusedSlice(nn.Module):
    """One projection's columns of a `FusedLinear` product, which its first part computes.

    Transformers' modules call the parts in order with the same input; the last one releases it.
    """

    def __init__(self, joined: FusedLinear, start: int, size: int) -> None:
        super().__init__()
        # In a list: a shared submodule would be saved and moved twice.
        self._joined = [joined]
        self._start, self._size = start, size

    def forward(self, x: Tensor) -> Tensor:
        joined = self._joined[0]
        if self._start == 0:
            joined.product = linear(x, joined.weight, joined.bias, joined.row_invariant)
        product = joined.product
        assert product is not None, "the first part is called first"
        end = self._start + self._size
        if end == product.shape[-1]:
            joined.product = None
        return product[..., self._start : end]


def rewire_linears(model: nn.Module, row_invariant: bool = True) -> None:
    """Replace the model's plain linear layers; quantised or wrapped ones keep their own pass.

    `row_invariant` is that of `flybench.engine.kernels.linear`.
    """
    for module in list(model.modules()):
        for names in PROJECTIONS:
            parts = [getattr(module, name, None) for name in names]
            if all(_plain(part) for part in parts):
                _fuse(module, names, parts, row_invariant)  # type: ignore[arg-type]
        for name, child in list(module.named_children()):
            if _plain(child):
                setattr(module, name, SkinnyLinear(child, row_invariant))


def _plain(module: Any) -> TypeGuard[nn.Linear]:
    return type(module) is nn.Linear and type(module.weight) is nn.Parameter


def _fuse(
    module: nn.Module, names: tuple[str, ...], parts: list[nn.Linear], row_invariant: bool
) -> None:
    joined, start = FusedLinear(parts, row_invariant), 0
    for name, part in zip(names, parts, strict=True):
        size = part.weight.shape[0]
        setattr(module, name, FusedSlice(joined, start, size))
        # Other references to the old parameter become views, so its memory is freed.
        part.weight.data = joined.weight.data[start : start + size]
        start += size
