"""Well-known architectures by their sizes, for costing a model before its weights are fetched.

Sizes are those of the models' public config.json files.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, PretrainedConfig, PreTrainedModel

from flybench.checks import suggestion
from flybench.core import FlybenchError
from flybench.engine.graph.shards import shard

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 128256,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 131072,
    "rope_parameters": {
        "rope_type": "llama3",
        "rope_theta": 500000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}


def _llama(hidden: int, intermediate: int, layers: int, heads: int, **more: Any) -> dict[str, Any]:
    sizes = {
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
    }
    return LLAMA | sizes | more


def _qwen(hidden: int, intermediate: int, layers: int, heads: int) -> dict[str, Any]:
    return {
        "model_type": "qwen2",
        "vocab_size": 151936,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
        "tie_word_embeddings": True,
    }


SHAPES: dict[str, dict[str, Any]] = {
    "llama-1b": _llama(2048, 8192, 16, 32, head_dim=64, tie_word_embeddings=True),
    "llama-8b": _llama(4096, 14336, 32, 32),
    "llama-70b": _llama(8192, 28672, 80, 64),
    "qwen2.5-0.5b": _qwen(896, 4864, 24, 14),
    "qwen2.5-1.5b": _qwen(1536, 8960, 28, 12),
}


def shape_config(name: str) -> PretrainedConfig:
    """The configuration of a shape.

    Raises:
        FlybenchError: no such shape is known.
    """
    if name not in SHAPES:
        raise FlybenchError(
            f"shape {name} is not known: use one of {', '.join(SHAPES)}{suggestion(name, SHAPES)}."
        )
    shape = dict(SHAPES[name])
    return AutoConfig.for_model(shape.pop("model_type"), **shape)


def random_weights(
    config: PretrainedConfig, dtype: torch.dtype, device: torch.device, sharded: bool = False
) -> PreTrainedModel:
    """A model with random weights, made where it will run: nothing passes through the host.

    `sharded` makes this rank's part alone; what ranks hold in common is the same on all of them.
    """
    if not sharded:
        with torch.device(device):
            model: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=dtype)
        return model.eval().requires_grad_(False)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    shard(model.eval().requires_grad_(False))
    _materialise(model, device)
    # Its frequencies are computed when it is made, and no checkpoint holds them.
    model.model.rotary_emb = type(model.model.rotary_emb)(config=model.config, device=device)
    return model


def _materialise(model: PreTrainedModel, device: torch.device) -> None:
    """Give every parameter without data random numbers, and norms their ones."""
    generator = torch.Generator(device).manual_seed(0)
    made: dict[int, nn.Parameter] = {}
    for module in model.modules():
        for name, empty in list(module.named_parameters(recurse=False)):
            if id(empty) not in made:
                full = torch.empty(empty.shape, device=device, dtype=empty.dtype)
                wide = empty.dim() > 1
                full = full.normal_(0, 0.02, generator=generator) if wide else full.fill_(1)
                made[id(empty)] = nn.Parameter(full, requires_grad=False)
            setattr(module, name, made[id(empty)])
