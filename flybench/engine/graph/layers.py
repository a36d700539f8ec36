"""Transformers' own decoder layers, rewired for static shapes.

Every layer keeps its module and forward pass. It is handed a cache of fixed size, attention that
reads the live part of it, and projections of one input joined into one product. All layers run one
compiled function, so that a model compiles once for each width of pass, however deep it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from flybench.engine.graph.linears import rewire_linears
from flybench.engine.kernels.attention import attend, masked_attention

ATTENTION = "flybench_static"
# Layers that differ in window or norm compile once each, for every width and model of a process.
COMPILED_VARIANTS = 128


@dataclass
class Cursor:
    """Where a pass writes: `base` [1] filled slots, then `slots` [T]; `whole` for a prefill.

    A prefill starts at an empty cache, so that its tokens see one another and nothing else.
    """

    base: Tensor
    slots: Tensor
    whole: bool = False


@dataclass
class StaticLayer:
    """One layer's keys and values [B, KV, L, D], with the interface of a transformers cache."""

    keys: Tensor
    values: Tensor
    cursor: Cursor

    def update(
        self, key: Tensor, value: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the new tokens; attention reads the whole cache, or a prefill's own text."""
        self.keys.index_copy_(2, self.cursor.slots, key)
        self.values.index_copy_(2, self.cursor.slots, value)
        return (key, value) if self.cursor.whole else (self.keys, self.values)


def static_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    cursor: Cursor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Transformers' attention interface over a `StaticLayer`; the mask is the cursor's business."""
    assert cursor is not None, "layers are called through `Layer`, which passes the cursor"
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    window, cap = sliding_window or 0, softcap or 0.0
    if not cursor.whole:
        return attend(query, key, value, cursor.base, scale, window, cap), None
    length = query.shape[2]
    if not cap and (not window or window >= length):
        output = nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, scale=scale, enable_gqa=True
        )
        return output.transpose(1, 2).contiguous(), None
    seen = torch.ones(length, length, dtype=torch.bool, device=query.device).tril()
    if window:
        seen = seen.triu(1 - window)
    return masked_attention(query, key, value, seen, scale, cap), None


ALL_ATTENTION_FUNCTIONS.register(ATTENTION, static_attention)


def run_layer(layer: nn.Module, hidden: Tensor, kwargs: dict[str, Any]) -> Tensor:
    """A layer's own forward pass, whatever stands in its place on the instance."""
    return type(layer).forward(layer, hidden, **kwargs)


class Layer:
    """What a decoder layer's `forward` becomes: its own pass on its static cache."""

    def __init__(self, layer: nn.Module, cache: StaticLayer, step: Callable[..., Tensor]) -> None:
        self._layer = layer
        self._cache = cache
        self._step = step
        # The cache argument was renamed in transformers 5.24; ask the layer, not the version.
        names = inspect.signature(type(layer).forward).parameters
        self._cache_name = "cache" if "cache" in names else "past_key_values"

    def __call__(self, hidden: Tensor, **kwargs: Any) -> Tensor:
        cursor = self._cache.cursor
        kwargs |= {self._cache_name: self._cache, "cursor": cursor}
        # A prompt has any length, and compiling for each would take longer than reading it.
        step = run_layer if cursor.whole else self._step
        return step(self._layer, hidden, kwargs)


def compiles(model: PreTrainedModel) -> bool:
    """Whether layers are compiled: where a graph is captured, and nowhere else."""
    return model.device.type == "cuda"


def install(model: PreTrainedModel, cursor: Cursor, slots: int) -> None:
    """Rewire a loaded model in place, with a cache of `slots` tokens for each layer."""
    model.config._attn_implementation = ATTENTION
    step: Callable[..., Tensor] = run_layer
    if compiles(model):
        limit = max(torch._dynamo.config.recompile_limit, COMPILED_VARIANTS)
        torch._dynamo.config.recompile_limit = limit
        step = torch.compile(run_layer, fullgraph=True, dynamic=False)
    for layer in model.model.layers:
        cache = _static_layer(model, layer, cursor, slots)
        layer.forward = Layer(layer, cache, step)
        for module in layer.modules():
            if hasattr(module, "layer_idx"):
                # The same for all, because a compiled function is bound to each number it meets.
                module.layer_idx = 0
    rewire_linears(model)


def _static_layer(
    model: PreTrainedModel, layer: nn.Module, cursor: Cursor, slots: int
) -> StaticLayer:
    config = model.config
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    heads = config.num_key_value_heads
    shape = (1, heads, slots, width)
    keys = torch.zeros(shape, device=model.device, dtype=model.dtype)
    return StaticLayer(keys, torch.zeros_like(keys), cursor)
