"""Layout of a head in a checkpoint's config.json and tensors, for every supported project.

| written by | `config.json` | tap ids |
|---|---|---|
| vllm-project/speculators | `speculators_model_type: eagle3`, the layer nested in `transformer_layer_config` | i: hidden state i |
| SpecForge, SGLang, AngelSlim, NVIDIA | one flat layer, `Eagle3` in `architectures` | k: output of layer k, hidden state k + 1 |
| SafeAILab/EAGLE | one flat Llama layer with `draft_vocab_size` | none: the defaults |

The structure is inferred from the tensors, the behaviour from the configuration.
"""  # noqa: E501 - a table row is one line

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from transformers import LlamaConfig, PretrainedConfig

from flybench.core.errors import FlybenchError
from flybench.engine.eagle3.head import HeadConfig

NESTED = "eagle3"
# Fields of a layer that a flat configuration shares with everything else in it.
LAYER = (
    *("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "head_dim"),
    *("rms_norm_eps", "hidden_act", "attention_bias", "max_position_embeddings"),
    *("rope_theta", "rope_scaling", "rope_parameters"),
)


def head_config(
    found: Mapping[str, Any], tensors: Mapping[str, Tensor], target: PretrainedConfig, name: str
) -> HeadConfig:
    """Return the configuration of the head `name` for a target.

    Raises:
        FlybenchError: this is not an EAGLE-3 head for this target.
    """
    nested = found.get("speculators_model_type") == NESTED
    if not nested and not _flat(found, tensors):
        raise FlybenchError(
            f"{name} is not an EAGLE-3 head in a supported format: check the path, and that its "
            "config.json has speculators_model_type eagle3, Eagle3 in its architectures, or a "
            "draft_vocab_size."
        )
    deeper = sorted(key for key in tensors if key.startswith("layers.1."))
    if deeper:
        raise FlybenchError(
            f"{name} has more than one layer ({deeper[0]}), which is not supported: use a "
            "single-layer head."
        )
    given = dict(found["transformer_layer_config"] if nested else found)
    layer = LlamaConfig(**{key: given[key] for key in LAYER if given.get(key) is not None})
    layer.attention_bias = "layers.0.self_attn.q_proj.bias" in tensors
    size = found.get("draft_vocab_size") or found.get("truncated_vocab_size")
    tied = bool(given.get("tie_word_embeddings")) and "lm_head.weight" not in tensors
    return HeadConfig(
        layer=layer,
        target_hidden_size=target.hidden_size,
        vocab_size=target.vocab_size,
        draft_vocab_size=None if tied or size is None else int(size),
        taps=_taps(found, nested, target.num_hidden_layers, name),
        norm_before_residual=bool(found.get("norm_before_residual")),
        norm_before_fc="input_norm.weight" in tensors,
        norm_output=bool(found.get("norm_output")),
        fc_norm="fc_norm.0.weight" in tensors,
        qk_norm="layers.0.self_attn.q_norm.weight" in tensors,
        own_embeddings="embed_tokens.weight" in tensors,
        fc_bias="fc.bias" in tensors,
    )


def default_taps(layers: int) -> tuple[int, int, int]:
    """Return early, middle and late hidden states of a target with so many layers."""
    return 2, layers // 2, layers - 3


def _flat(found: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> bool:
    named = any("Eagle3" in name for name in found.get("architectures") or [])
    sized = "draft_vocab_size" in found or "truncated_vocab_size" in found
    one = found.get("num_hidden_layers") == 1
    return "fc.weight" in tensors and (named or (one and sized))


def _taps(found: Mapping[str, Any], nested: bool, layers: int, name: str) -> tuple[int, int, int]:
    key = "eagle_aux_hidden_state_layer_ids"
    ids = found.get(key) if nested else (found.get("eagle_config") or {}).get(key)
    if not ids:
        return default_taps(layers)
    if len(ids) != 3:
        raise FlybenchError(
            f"{name} reads {len(ids)} hidden states ({key}: {list(ids)}), but an EAGLE-3 head must "
            "read three: use another head."
        )
    first, second, third = (int(index) + (0 if nested else 1) for index in ids)
    return first, second, third
