"""Well-known architectures by their sizes, for benchmarks of a model without its weights.

Sizes are those of the models' public config.json files.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, PretrainedConfig, PreTrainedModel

from flybench.config.checks import suggestion
from flybench.core.errors import FlybenchError
from flybench.engine.graph.shards import shard

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 128256,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 131072,
}
QWEN2: dict[str, Any] = {
    "model_type": "qwen2",
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
}
QWEN3: dict[str, Any] = QWEN2 | {
    "model_type": "qwen3",
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40960,
}


def _sizes(hidden: int, inner: int, layers: int, heads: int) -> dict[str, Any]:
    return {
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
    }


def _llama(*sizes: int, factor: float = 8.0, **more: Any) -> dict[str, Any]:
    rope = {
        "rope_type": "llama3",
        "rope_theta": 500000.0,
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    return LLAMA | _sizes(*sizes) | {"rope_parameters": rope} | more


def _qwen2(*sizes: int, key_heads: int, tied: bool, **more: Any) -> dict[str, Any]:
    heads = {"num_key_value_heads": key_heads, "tie_word_embeddings": tied}
    return QWEN2 | _sizes(*sizes) | heads | more


SMOLLM2_135M: dict[str, Any] = {
    "model_type": "llama",
    **_sizes(576, 1536, 30, 9),
    "vocab_size": 49152,
    "num_key_value_heads": 3,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 8192,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e5},
    "tie_word_embeddings": True,
}

# Instruct, coder and distilled models have the shapes of the models that they were made from.
SHAPES: dict[str, dict[str, Any]] = {
    "llama-1b": _llama(2048, 8192, 16, 32, factor=32.0, head_dim=64, tie_word_embeddings=True),
    "llama-8b": _llama(4096, 14336, 32, 32),
    "llama-70b": _llama(8192, 28672, 80, 64),
    "llama-405b": _llama(16384, 53248, 126, 128),
    "qwen2.5-0.5b": _qwen2(896, 4864, 24, 14, key_heads=2, tied=True),
    "qwen2.5-1.5b": _qwen2(1536, 8960, 28, 12, key_heads=2, tied=True),
    "qwen2.5-7b": _qwen2(3584, 18944, 28, 28, key_heads=4, tied=False, vocab_size=152064),
    "qwen2.5-72b": _qwen2(8192, 29568, 80, 64, key_heads=8, tied=False, vocab_size=152064),
    "qwen3-0.6b": QWEN3 | _sizes(1024, 3072, 28, 16) | {"tie_word_embeddings": True},
    "qwen3-32b": QWEN3 | _sizes(5120, 25600, 64, 64) | {"tie_word_embeddings": False},
    "smollm2-135m": SMOLLM2_135M,
}


def shape_config(name: str) -> PretrainedConfig:
    """Return the configuration of a shape.

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
    """Create a model with random weights directly on its device.

    If `sharded`, only this rank's part is created; common weights are equal on all ranks.
    """
    if not sharded:
        with torch.device(device):
            model: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=dtype)
        return model.eval().requires_grad_(False)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    shard(model.eval().requires_grad_(False))
    _materialise(model, device)
    # Its frequencies are computed by its constructor and are not in checkpoints.
    with torch.device(device):
        model.model.rotary_emb = type(model.model.rotary_emb)(model.config)
    return model


def _materialise(model: PreTrainedModel, device: torch.device) -> None:
    """Fill every parameter without data with random numbers, and norms with ones."""
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
