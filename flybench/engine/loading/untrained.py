"""Pairs with the architectures of configured ones and random weights; no weights are downloaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PretrainedConfig, PreTrainedModel

from flybench.config import EngineConfig, ModelRef
from flybench.core.errors import FlybenchError
from flybench.engine.drafters.shared_embeddings import DraftLayers
from flybench.engine.graph.support import unsupported_reason, windowed
from flybench.engine.loading.description import find_draft_layers, read_with
from flybench.engine.loading.placement import placed, resolve_dtype
from flybench.engine.loading.random_models import random_model
from flybench.engine.loading.shapes import SHAPES, random_weights, shape_config
from flybench.engine.loading.source import local_folder, locate
from flybench.measure.roofline import free_bytes

GB = 1e9


@dataclass(frozen=True)
class Untrained:
    """An architecture to be filled with random numbers, as a `Described` model."""

    ref: ModelRef
    config: PretrainedConfig

    # What checkpoints of these architectures have.
    stored_dtype: torch.dtype = torch.bfloat16
    quantisation: str | None = None
    draft_layers: DraftLayers | None = None

    @property
    def graph_unsupported_reason(self) -> str | None:
        return unsupported_reason(self.config)

    @property
    def windowed(self) -> bool:
        return windowed(self.config)

    @property
    def draft_ids(self) -> torch.Tensor | None:
        trim = self.ref.vocab_trim
        if self.draft_layers is not None:
            return self.draft_layers.scored(trim)
        size = self.config.get_text_config().vocab_size
        return None if trim is None else torch.arange(min(trim, size))

    @property
    def key_heads(self) -> int:
        return int(self.config.get_text_config().num_key_value_heads)


def architecture(ref: ModelRef) -> Untrained:
    """Return the architecture of the shape that `ref` names, else of the model's config.json.

    It is built on one device: a target that would be spread over GPUs is put on the first.

    Raises:
        FlybenchError: the shape or the configuration does not exist, or the model is quantised.
    """
    if ref.quantize is not None:
        raise FlybenchError(
            f"quantize={ref.quantize} with weights=random is not allowed: remove it, because only "
            "weights that are read from a file can be quantised."
        )
    here = replace(ref, device="auto") if ref.device == "balanced" else ref
    return Untrained(here, model_config(ref))


def untrained_draft(ref: ModelRef, target: Untrained) -> Untrained | None:
    """Return a draft that shares the embeddings of `target`, with its layers; None for other
    models."""
    own = None if ref.shape else find_draft_layers(ref)
    return None if own is None else replace(target, ref=ref, draft_layers=own)


def fill(info: Untrained, engine: EngineConfig, sharded: bool = False) -> PreTrainedModel:
    """Create the model, or this rank's part of it, with random weights on its device.

    Raises:
        FlybenchError: the weights do not fit there.
    """
    device, dtype = placed(info, engine), resolve_dtype(info, engine)
    assert device is not None, "an untrained model is on one device"
    needed = _weights(info.config) * dtype.itemsize
    if sharded:
        needed //= engine.tp
    free = free_bytes(device)
    if needed > free:
        raise FlybenchError(
            f"The weights of {info.ref.shape or info.ref.path} take {needed / GB:.1f} GB in "
            f"{dtype}, but {device} has only {free / GB:.1f} GB free: choose a smaller model"
            f"{', or engine.dtype=bf16' if dtype.itemsize > 2 else ' or a larger device'}."
        )
    return random_weights(info.config, dtype, device, sharded)


def _weights(config: PretrainedConfig) -> int:
    """Number of parameters."""
    with torch.device("meta"):
        empty = AutoModelForCausalLM.from_config(config)
    return sum(weight.numel() for weight in empty.parameters())


def model_config(ref: ModelRef) -> PretrainedConfig:
    """Return the configuration of the shape that `ref` names, else the model's own.

    Raises:
        FlybenchError: the shape or the configuration does not exist.
    """
    if ref.shape:
        return shape_config(ref.shape)
    source = locate(ref)
    if source.kind == "random":
        return random_model(source.location).config
    if source.kind != "hub":
        return read_with(AutoConfig, ref, local_folder(source))
    try:  # only this file is downloaded
        return read_with(AutoConfig, ref, Path(source.location), revision=source.revision)
    except FlybenchError as error:
        raise FlybenchError(
            f"{str(error).rstrip('.')}, or set its shape to one of {', '.join(SHAPES)}."
        ) from error
