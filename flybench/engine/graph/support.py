"""Models that the graph engine supports, decided from the configuration."""

from __future__ import annotations

from typing import Any

from transformers import PretrainedConfig

FAMILIES = ("gemma", "gemma2", "gemma3_text", "llama", "mistral", "qwen2", "qwen3")
LAYERS = {"full_attention", "sliding_attention"}
# Their frequencies follow the length of the text, which a captured graph cannot see.
DYNAMIC_ROPES = {"dynamic", "longrope"}


def unsupported_reason(config: PretrainedConfig) -> str | None:
    """Return the reason why the graph engine cannot run this model, as the end of a sentence; None
    if it can."""
    if config.model_type not in FAMILIES:
        return f"it supports {', '.join(FAMILIES)}, and this model is of type {config.model_type}"
    strange = set(getattr(config, "layer_types", None) or []) - LAYERS
    if strange:
        return f"this model has layers of type {', '.join(sorted(strange))}"
    moving = _rope_types(getattr(config, "rope_parameters", None)) & DYNAMIC_ROPES
    if moving:
        return f"this model's rotary embedding ({', '.join(sorted(moving))}) changes with length"
    if getattr(config, "use_bidirectional_attention", False):
        return "this model attends in both directions"
    return None


def _rope_types(parameters: Any) -> set[str]:
    """Yield every `rope_type` in the parameters, of one group or of one for each layer type."""
    if not isinstance(parameters, dict):
        return set()
    groups = [parameters, *(group for group in parameters.values() if isinstance(group, dict))]
    return {str(group["rope_type"]) for group in groups if "rope_type" in group}


def windowed(config: PretrainedConfig) -> bool:
    """Return whether some layers have a sliding window."""
    text = config.get_text_config()
    kinds = getattr(text, "layer_types", None) or []
    return bool(getattr(text, "sliding_window", None)) and set(kinds) != {"full_attention"}
