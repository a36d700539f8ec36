"""Memory requirements of a model pair, computed before any weights are loaded.

Activations, engine workspaces and the process itself are not included.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import safe_open
from torch import nn
from transformers import AutoModelForCausalLM, LlamaConfig, PretrainedConfig

from flybench.config import EngineConfig, ModelConfig, ModelRef
from flybench.engine.cost.footprint import kv_bytes_per_token
from flybench.engine.drafters.shared_embeddings import DraftLayers
from flybench.engine.eagle3.checkpoint import find_head
from flybench.engine.eagle3.checkpoint_layout import LAYER
from flybench.engine.loading.description import find_draft_layers
from flybench.engine.loading.load import FULL_MODEL
from flybench.engine.loading.placement import DTYPES, resolve_dtype
from flybench.engine.loading.source import local_folder, locate
from flybench.engine.loading.untrained import Untrained, model_config

# Bytes of a weight with its scales, as `engine/quantised.py` asks for them.
QUANTISED = {"int8": 1.0, "int4": 0.5 + 4 / 128, "nf4": 0.5 + 4 / 64}


class Sizes(NamedTuple):
    """Bytes of weights, and bytes that each token takes in the cache; None where unknown."""

    weights: int | None
    cache: int | None


@cache
def target_sizes(ref: ModelRef, engine: EngineConfig) -> Sizes:
    """Return the sizes of a complete model, whether or not it fits on this machine.

    Raises:
        FlybenchError: it names no shape, and its own configuration cannot be found.
    """
    config = model_config(ref)
    itemsize = _itemsize(ref, config, engine)
    return Sizes(_weights(ref, config, itemsize), _cache(ref, config, itemsize))


@cache
def draft_sizes(model: ModelConfig, engine: EngineConfig) -> Sizes:
    """Return the sizes that a draft model adds to its target.

    Raises:
        FlybenchError: as `target_sizes`.
    """
    target, ref = model.target, model.draft
    assert ref is not None, "asked of pairs with a draft model"
    own = None if ref.shape else find_draft_layers(ref)
    config = model_config(target if own else ref)
    itemsize = _itemsize(target if own else ref, config, engine)
    trim = _scored(ref, own) * config.get_text_config().hidden_size * itemsize
    if own is not None:
        layers = sum(part.numel() for part in own.parts.values()) * itemsize
        share = own.layers / config.get_text_config().num_hidden_layers
        cached = kv_bytes_per_token(config.get_text_config(), itemsize)
        return Sizes(layers + trim, None if cached is None else int(cached * share))
    shared = engine.tp == 1 and replace(ref, **FULL_MODEL) == replace(target, **FULL_MODEL)
    weights = 0 if shared else _weights(ref, config, itemsize)
    cached = _cache(ref, config, itemsize)
    return Sizes(None if weights is None else weights + trim, cached)


@cache
def head_sizes(model: ModelConfig, engine: EngineConfig) -> Sizes:
    """Return the sizes that an EAGLE-3 head adds to its target; only safetensors are counted.

    Raises:
        FlybenchError: the head does not exist, or as `target_sizes`.
    """
    assert model.eagle3 is not None, "asked of pairs with a head"
    folder = find_head(model.eagle3).folder
    itemsize = _itemsize(model.target, model_config(model.target), engine)
    found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    given = found.get("transformer_layer_config") or found
    layer = LlamaConfig(**{key: given[key] for key in LAYER if given.get(key) is not None})
    layer.num_hidden_layers = 1
    numbers = sum(map(_numbers, folder.glob("*.safetensors")))
    return Sizes(numbers * itemsize or None, kv_bytes_per_token(layer, itemsize))


def _numbers(file: Path) -> int:
    """Return the number of elements in a file of tensors, from its header."""
    with safe_open(file, "pt") as tensors:
        return sum(math.prod(tensors.get_slice(key).get_shape()) for key in tensors.keys())  # noqa: SIM118


def _scored(ref: ModelRef, own: DraftLayers | None) -> int:
    """Return the number of rows of the output layer that a draft copies."""
    return (ref.vocab_trim or 0) if own is None else len(own.scored(ref.vocab_trim))


def _itemsize(ref: ModelRef, config: PretrainedConfig, engine: EngineConfig) -> int:
    info = Untrained(ref, config, stored_dtype=getattr(config, "dtype", None) or torch.bfloat16)
    named = DTYPES.get(ref.dtype) or DTYPES.get(engine.dtype)
    return (named or resolve_dtype(info, engine)).itemsize


def _weights(ref: ModelRef, config: PretrainedConfig, itemsize: int) -> int | None:
    """Return the bytes of all weights, because skipped layers are loaded as well."""
    if getattr(config, "quantization_config", None) is not None:
        source = locate(ref)
        files = [] if source.kind == "hub" else local_folder(source).glob("*.safetensors")
        return sum(file.stat().st_size for file in files) or None
    with torch.device("meta"):
        empty = AutoModelForCausalLM.from_config(config)
    total = sum(weight.numel() for weight in empty.parameters())
    if ref.quantize is None:
        return total * itemsize
    output = empty.get_output_embeddings()
    layers = [m for m in empty.modules() if isinstance(m, nn.Linear) and m is not output]
    fewer = sum(layer.weight.numel() for layer in layers)
    return int(fewer * QUANTISED[ref.quantize]) + (total - fewer) * itemsize


def _cache(ref: ModelRef, config: PretrainedConfig, itemsize: int) -> int | None:
    text = config.get_text_config()
    whole = kv_bytes_per_token(text, itemsize)
    if whole is None or ref.skip_layers is None:
        return whole
    first, end = ref.skip_layers
    return whole - whole // text.num_hidden_layers * (end - first)
