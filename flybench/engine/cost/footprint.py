"""Bytes that a model reads for each decoded token: its weights and its cache.

Divided by the memory bandwidth, they give the minimum step time at batch size 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from torch import Tensor
from transformers import PretrainedConfig, PreTrainedModel

# Caches that do not store the keys and values of every head of every layer.
OTHER_CACHES = ("kv_lora_rank", "num_kv_shared_layers", "global_head_dim")


@dataclass(frozen=True)
class Footprint:
    """Bytes of weights read for one token, and bytes of cache read for each cached token.

    None if unknown: a mixture of experts reads only some of its weights, and some caches are
    compressed or shared.
    """

    weight_bytes: int | None
    kv_bytes_per_token: int | None


def footprint(model: PreTrainedModel) -> Footprint:
    """Return the footprint of a loaded model in its dtype."""
    config = model.config.get_text_config()
    return Footprint(
        weight_bytes=None if _has_experts(model) else _weight_bytes(model),
        kv_bytes_per_token=kv_bytes_per_token(config, model.dtype.itemsize),
    )


def _weight_bytes(model: PreTrainedModel) -> int:
    """Count every stored tensor once, but one row of an input embedding that is not tied."""
    # Buffers too, because some quantisers keep weights there. Two names of one tensor share a key.
    tensors = {_identity(tensor): tensor for tensor in model.state_dict(keep_vars=True).values()}
    total = sum(stored_bytes(tensor) for tensor in tensors.values())
    table = cast(Tensor, model.get_input_embeddings().weight)
    output: Tensor | None = getattr(model.get_output_embeddings(), "weight", None)
    if _identity(output) == _identity(table):
        return total
    return total - stored_bytes(table) + stored_bytes(table) // table.shape[0]


def _identity(tensor: Tensor | None) -> object:
    """Return a key that is equal for two names of the same memory; an offloaded or quantised tensor
    has no address."""
    if tensor is None or tensor.device.type == "meta" or hasattr(tensor, "__tensor_flatten__"):
        return id(tensor)
    return tensor.data_ptr(), tensor.shape


def stored_bytes(tensor: Tensor) -> int:
    """Return the bytes of a tensor; a quantised one wraps the tensors of its data."""
    if hasattr(tensor, "__tensor_flatten__"):
        names, _ = tensor.__tensor_flatten__()
        return sum(stored_bytes(getattr(tensor, name)) for name in names)
    return tensor.numel() * tensor.element_size()


def _has_experts(model: PreTrainedModel) -> bool:
    return any("expert" in name or "moe" in name for name, _ in model.named_modules())


def head_width(config: PretrainedConfig) -> int:
    """Return the head dimension, which some configurations do not name."""
    given: int | None = getattr(config, "head_dim", None)
    return given or config.hidden_size // config.num_attention_heads


def kv_bytes_per_token(config: PretrainedConfig, itemsize: int) -> int | None:
    """Return 2 (keys and values) · layers · key heads · head dimension · bytes of an element."""
    heads = getattr(config, "num_key_value_heads", None)
    width = head_width(config)
    # A list means that heads differ by layer; a configuration without heads uses other names.
    usual = isinstance(heads, int) and isinstance(width, int)
    if not usual or any(getattr(config, name, None) for name in OTHER_CACHES):
        return None
    return 2 * config.num_hidden_layers * heads * width * itemsize
