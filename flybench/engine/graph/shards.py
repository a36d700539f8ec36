"""Tensor parallelism with transformers' plan: each rank has a shard of every linear layer.

The plan marks layers as column-parallel, row-parallel (outputs all-reduced) or column-parallel
with gathered outputs. Transformers loads a model sharded, whole, or on the meta device; sharding
turns its layers into plain layers of this rank's sizes.
"""

from __future__ import annotations

import re

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from transformers import PreTrainedModel

from flybench.core.errors import FlybenchError
from flybench.distributed import rank, world_size
from flybench.engine.cost.footprint import head_width

COLUMNS = {"colwise"}
ROWS = {"rowwise"}
GATHERED = {"colwise_gather_output", "colwise_rep"}


@torch.library.custom_op("flybench::sum_ranks", mutates_args=("x",))
def sum_ranks(x: Tensor) -> None:
    """Replace x by the sum of every rank's x."""
    dist.all_reduce(x)


@torch.library.custom_op("flybench::gather_ranks", mutates_args=())
def gather_ranks(x: Tensor, ranks: int) -> Tensor:
    """Concatenate x [..., C] of all ranks: [..., ranks · C]."""
    parts = x.new_empty(ranks * x.shape[0], *x.shape[1:])
    dist.all_gather_into_tensor(parts, x.contiguous())
    return parts.unflatten(0, (ranks, -1)).movedim(0, -2).flatten(-2)


@gather_ranks.register_fake
def _(x: Tensor, ranks: int) -> Tensor:
    return x.new_empty(*x.shape[:-1], ranks * x.shape[-1])


class RowParallelLinear(nn.Module):
    """A linear layer split by rows: the parts of the ranks are summed, the bias is added once."""

    def __init__(self, part: nn.Linear, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.part, self.bias = part, bias

    def forward(self, x: Tensor) -> Tensor:
        y = self.part(x)
        sum_ranks(y)
        return y if self.bias is None else y + self.bias


class GatheredColumnLinear(nn.Module):
    """A linear layer split by columns whose whole output every rank needs."""

    def __init__(self, part: nn.Linear) -> None:
        super().__init__()
        self.part = part
        self._ranks = world_size()

    def forward(self, x: Tensor) -> Tensor:
        return gather_ranks(self.part(x), self._ranks)


def shard(model: PreTrainedModel) -> PreTrainedModel:
    """Replace every layer that the model's plan splits by this rank's part.

    The model's configuration then counts the heads of this rank.

    Raises:
        FlybenchError: the plan splits a layer in a way that is not supported.
    """
    plan = model.tp_plan
    for name, module in list(model.named_modules()):
        style = plan.get(re.sub(r"\.\d+(?=\.|$)", ".*", name))
        if style is not None and isinstance(module, nn.Embedding):
            # A lookup reads one row per token: every rank keeps the table and none communicates.
            module.weight = nn.Parameter(_whole(module.weight), requires_grad=False)
            module.__dict__.pop("forward", None)
        if style is None or not isinstance(module, nn.Linear):
            continue
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent), child, _part(name, module, style))
    config, ranks = model.config, world_size()
    config.head_dim = head_width(config)
    config.num_attention_heads //= ranks
    config.num_key_value_heads //= ranks
    return model


def _part(name: str, module: nn.Linear, style: str) -> nn.Module:
    if style in ROWS:
        return RowParallelLinear(_linear(_local(module.weight, 1), None), module.bias)
    if style in GATHERED and module.weight.shape[0] % world_size():
        # For example an LM head whose size is not divisible: each rank computes all of it.
        return _linear(_whole(module.weight), None if module.bias is None else _whole(module.bias))
    if style in COLUMNS | GATHERED:
        bias = None if module.bias is None else _local(module.bias, 0)
        part = _linear(_local(module.weight, 0), bias)
        return part if style in COLUMNS else GatheredColumnLinear(part)
    raise FlybenchError(
        f"The model's tensor-parallel plan shards {name} by {style}, which is not supported: run "
        "it without engine.tp."
    )


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    rows, columns = weight.shape
    linear = nn.Linear(columns, rows, bias=bias is not None, device="meta", dtype=weight.dtype)
    linear.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        linear.bias = nn.Parameter(bias, requires_grad=False)
    return linear


def _whole(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor.detach()


def _local(tensor: Tensor, axis: int) -> Tensor:
    """Return this rank's part of a tensor, which transformers may have split already."""
    if isinstance(tensor, DTensor):
        return tensor.to_local()
    if tensor.shape[axis] % world_size():
        raise FlybenchError(
            f"A layer dimension of {tensor.shape[axis]} is not divisible by engine.tp="
            f"{world_size()}: choose a number of ranks that divides it."
        )
    return tensor.detach().chunk(world_size(), axis)[rank()].clone()
