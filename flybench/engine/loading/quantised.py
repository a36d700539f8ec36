"""Quantised weights, as transformers quantises them while it loads a model.

A quantised checkpoint needs none of this: transformers reads its configuration. In both cases
layers keep their own forward pass, on both engines.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from transformers import BitsAndBytesConfig, PretrainedConfig, TorchAoConfig

from flybench.config import ModelRef
from flybench.core.errors import FlybenchError

PACKAGES = {"int8": "torchao", "int4": "torchao", "nf4": "bitsandbytes"}


def quantisation(ref: ModelRef, config: PretrainedConfig) -> str | None:
    """Return the quantisation of a model, by `ref` or its checkpoint; None if not quantised.

    Raises:
        FlybenchError: a package is missing, or the checkpoint is already quantised.
    """
    stored = getattr(config, "quantization_config", None)
    method = stored.get("quant_method") if isinstance(stored, dict) else None
    if ref.quantize is None:
        return None if stored is None else str(method or type(stored).__name__)
    if stored is not None:
        raise FlybenchError(
            f"{ref.path} is already quantised ({method}), so quantize={ref.quantize} is not "
            "allowed: remove it."
        )
    package = PACKAGES[ref.quantize]
    if importlib.util.find_spec(package) is None:
        raise FlybenchError(
            f"quantize={ref.quantize} for {ref.path} needs the package {package}: "
            f"pip install {package}."
        )
    return ref.quantize


def loading_options(ref: ModelRef, compute_dtype: Any) -> dict[str, Any]:
    """Return the arguments of `from_pretrained` that quantise as `ref` asks."""
    if ref.quantize is None:
        return {}
    if ref.quantize == "nf4":
        four = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=compute_dtype
        )
        return {"quantization_config": four}
    from torchao.quantization import Int4WeightOnlyConfig, Int8WeightOnlyConfig

    eight = ref.quantize == "int8"
    how = (
        Int8WeightOnlyConfig()
        if eight
        else Int4WeightOnlyConfig(group_size=128, int4_packing_format="tile_packed_to_4d")
    )
    return {"quantization_config": TorchAoConfig(how)}
