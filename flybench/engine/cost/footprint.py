"""What a model must read for each decoded token: its weights, and its cache.

Divided by the bandwidth of the memory they are the least time of a step at batch size 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from torch import Tensor
from transformers import PretrainedConfig, PreTrainedModel

# Caches that hold something else than the keys and values of every head of every layer.
OTHER_CACHES = ("kv_lora_rank", "num_kv_shared_layers", "global_head_dim")


@dataclass(frozen=True)
class Footprint:
    """Bytes of weights read for one token, and bytes of cache read for each cached token.

    None where they are unknown: a mixture of experts reads only a part of its weights, and some
    caches are compressed or shared.
    """

    weight_bytes: int | None
    kv_bytes_per_token: int | None


def footprint(model: PreTrainedModel) -> Footprint:
    """The footprint of a loaded model in the types that it is loaded in."""
    config = model.config.get_text_config()
    return Footprint(
        weight_bytes=None if _has_experts(model) else _weight_bytes(model),
        kv_bytes_per_token=kv_bytes_per_token(config, model.dtype.itemsize),
    )


def _weight_bytes(model: PreTrainedModel) -> int:
    """Every stored tensor once; of an input embedding that is not the output layer, one row."""
    # Buffers too, since some quantisers keep weights there. Two names of one tensor share a key.
    tensors = {_identity(tensor): tensor for tensor in model.state_dict(keep_vars=True).values()}
    total = sum(stored_bytes(tensor) for tensor in tensors.values())
    table = cast(Tensor, model.get_input_embeddings().weight)
    output: Tensor | None = getattr(model.get_output_embeddings(), "weight", None)
    if _identity(output) == _identity(table):
        return total
    return total - stored_bytes(table) + stored_bytes(table) // table.shape[0]


def _identity(tensor: Tensor | None) -> object:
    """Equal for two names of the same memory; an offloaded or quantised tensor has no address."""
    if tensor is None or tensor.device.type == "meta" or hasattr(tensor, "__tensor_flatten__"):
        return id(tensor)
    return tensor.data_ptr(), tensor.shape


def stored_bytes(tensor: Tensor) -> int:
    """Bytes that a tensor takes; a quantised one is a shell around the tensors that it keeps."""
    if hasattr(tensor, "__tensor_flatten__"):
        names, _ = tensor.__tensor_flatten__()
        return sum(stored_bytes(getattr(tensor, name)) for name in names)
    return tensor.numel() * tensor.element_size()


def _has_experts(model: PreTrainedModel) -> bool:
    return any("expert" in name or "moe" in name for name, _ in model.named_modules())


def head_width(config: PretrainedConfig) -> int:
    """Numbers in one head's query or key; some configurations leave it to be derived."""
    given: int | None = getattr(config, "head_dim", None)
    return given or config.hidden_size // config.num_attention_heads


def kv_bytes_per_token(config: PretrainedConfig, itemsize: int) -> int | None:
    """2 (keys and values) · layers · heads of keys · width of a head · bytes of a number."""
    heads = getattr(config, "num_key_value_heads", None)
    width = head_width(config)
    # A list of heads differs from layer to layer; a configuration without any has names of its own.
    usual = isinstance(heads, int) and isinstance(width, int)
    if not usual or any(getattr(config, name, None) for name in OTHER_CACHES):
        return None
    return 2 * config.num_hidden_layers * heads * width * itemsize
