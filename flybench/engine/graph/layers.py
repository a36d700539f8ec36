"""Transformers' own decoder layers, patched for static shapes.

Every layer keeps its module and forward method. It gets a static cache, attention over the filled
part of it, and fused projections. All layers run one compiled function: a model is compiled once
for each width of pass, regardless of its depth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from flybench.engine.cost.footprint import head_width
from flybench.engine.graph.capture import compiles
from flybench.engine.graph.linears import rewire_linears
from flybench.engine.kernels.attention import attend

ATTENTION = "flybench_static"
# Layers that differ in window or norm compile once each, for every width and model of a process;
# a check of many models meets hundreds, and beyond the limit compiling fails.
COMPILED_VARIANTS = 4096


@dataclass
class Cursor:
    """Positions that a pass writes, after `base` [1] filled slots; `ancestors` [T, T] for trees."""

    base: Tensor
    ancestors: Tensor | None = None


@dataclass(frozen=True)
class StaticLayer:
    """One layer's keys and values [B, KV, L, D]."""

    keys: Tensor
    values: Tensor
    cursor: Cursor


def static_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    static: StaticLayer | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Implement transformers' attention interface over a `StaticLayer`, which has the mask."""
    assert static is not None, "layers are called through `Step`, which passes their cache"
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    window, cap, cursor = sliding_window or 0, softcap or 0.0, static.cursor
    how = (cursor.base, scale, window, cap, cursor.ancestors)
    return attend(query, key, value, static.keys, static.values, *how), None


ALL_ATTENTION_FUNCTIONS.register(ATTENTION, static_attention)


def run_module(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """Run the forward method of a module's class, even if the instance overrides it."""
    return type(module).forward(module, *args, **kwargs)


def install(
    model: PreTrainedModel,
    cursor: Cursor,
    slots: int,
    batch: int = 1,
    row_invariant: bool = True,
) -> None:
    """Rewire a loaded model in place, with a cache of `slots` tokens for each layer and text.

    A second call installs new caches; graphs captured on the old ones keep them, and
    `row_invariant` does not change.
    """
    model.config._attn_implementation = ATTENTION
    compiled: Callable[..., Any] = run_module
    if compiles(model.device):
        # Imported lazily: importing Inductor takes seconds, and it is not needed on a CPU.
        from flybench.engine.graph.reductions import use_row_invariant_reductions

        use_row_invariant_reductions()
        for limit in ("recompile_limit", "accumulated_recompile_limit"):
            most = max(getattr(torch._dynamo.config, limit), COMPILED_VARIANTS)
            setattr(torch._dynamo.config, limit, most)
        options: dict[str, Any] = {
            # Fuse small independent kernels, such as the rotary embeddings of queries and keys.
            **{"combo_kernels": True, "combo_kernels_pointwise_only": True},
            # Fused kernels must round like unfused ones: Qwen3 fuses one row unlike several.
            "emulate_precision_casts": True,
        }
        compiled = torch.compile(run_module, fullgraph=True, dynamic=False, options=options)
    for layer in model.model.layers:
        static = _static_layer(model, cursor, slots, batch)
        layer.forward = partial(compiled, layer, static=static)
        for module in layer.modules():
            if hasattr(module, "layer_idx"):
                # The same for all layers: Dynamo would otherwise specialise on each value.
                module.layer_idx = 0
    for module in (model.model.rotary_emb, model.model.norm):
        module.forward = partial(compiled, module)
    rewire_linears(model, row_invariant)


def _static_layer(model: PreTrainedModel, cursor: Cursor, slots: int, batch: int) -> StaticLayer:
    config = model.config
    width = head_width(config)
    heads = config.num_key_value_heads
    shape = (batch, heads, slots, width)
    keys = torch.zeros(shape, device=model.device, dtype=model.dtype)
    return StaticLayer(keys, torch.zeros_like(keys), cursor)
