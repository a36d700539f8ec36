"""Loads the weights of a described pair onto an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from flybench.config import EngineConfig, ModelRef
from flybench.core import FlybenchError
from flybench.engine.base import CachedModel, Target
from flybench.engine.description import ModelInfo, read_with
from flybench.engine.eager import EagerModel, EagerTarget
from flybench.engine.footprint import Footprint, footprint
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph.target import GraphTarget
from flybench.engine.layer_skip import same_weights, without_layers
from flybench.engine.placement import resolve_device
from flybench.engine.random_models import random_model
from flybench.engine.source import local_folder

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Pair:
    """A loaded pair with what each model reads for a token.

    `draft` and its footprint are None where the method needs no draft model.
    """

    target: Target
    draft: CachedModel | None
    dtype: torch.dtype
    target_footprint: Footprint
    draft_footprint: Footprint | None


def load_pair(
    target: ModelInfo,
    draft: ModelInfo | None,
    vocab_size: int,
    engine: EngineConfig,
    max_length: int,
) -> Pair:
    """Load the weights of a described pair for texts of up to `max_length` tokens."""
    models = load_models(target, draft, partial(load, engine=engine))
    # Counted first, because an engine may rewire what it is given.
    footprints = [footprint(model) for model in models]
    on_target, on_draft = on_engine(models, vocab_size, engine, max_length)
    small = None if draft is None else footprints[1]
    return Pair(on_target, on_draft, models[0].dtype, footprints[0], small)


class Known(Protocol):
    """What is known of a model before it is loaded."""

    @property
    def ref(self) -> ModelRef: ...


Info = TypeVar("Info", bound=Known)


def load_models(
    target: Info, draft: Info | None, load: Callable[[Info], PreTrainedModel]
) -> list[PreTrainedModel]:
    """The target, and the draft if there is one, on the same tensors if it is the same model."""
    whole = load(target)
    models = [_skipping(whole, target.ref)]
    if draft is not None:
        same = replace(draft.ref, skip_layers=None) == replace(target.ref, skip_layers=None)
        base = same_weights(whole) if same else load(draft)
        models.append(_skipping(base, draft.ref))
    return models


def on_engine(
    models: Sequence[PreTrainedModel], vocab_size: int, engine: EngineConfig, max_length: int
) -> tuple[Target, CachedModel | None]:
    """A target and, if there is a second model, a draft."""
    if engine.kind == "graph":
        fast = [GraphModel(model, vocab_size, max_length) for model in models]
        return GraphTarget(fast[0]), fast[1] if len(fast) > 1 else None
    plain = [EagerModel(model, vocab_size) for model in models]
    return EagerTarget(plain[0]), plain[1] if len(plain) > 1 else None


def _skipping(model: PreTrainedModel, ref: ModelRef) -> PreTrainedModel:
    return without_layers(model, *ref.skip_layers) if ref.skip_layers else model


def device_and_dtype(
    ref: ModelRef, engine: EngineConfig, stored: torch.dtype
) -> tuple[torch.device | None, torch.dtype]:
    """Where a model goes, None for all cards in turn, and the type that its weights get there."""
    name = ref.device if ref.device != "auto" else engine.device
    device = None if name == "balanced" else resolve_device(name)
    chosen = ref.dtype if ref.dtype != "auto" else engine.dtype
    on_cpu = device is not None and device.type == "cpu"
    automatic = torch.float32 if on_cpu else stored
    return device, automatic if chosen == "auto" else DTYPES[chosen]


def load(info: ModelInfo, engine: EngineConfig) -> PreTrainedModel:
    """The weights of one described model."""
    device, dtype = device_and_dtype(info.ref, engine, info.stored_dtype)
    if info.source.kind == "random":
        model = random_model(info.source.location)
        return model.to(device=device, dtype=dtype)  # type: ignore[call-arg]
    folder = local_folder(info.source)
    place = device or "balanced"
    model, found = read_with(
        AutoModelForCausalLM,
        info.ref,
        folder,
        dtype=dtype,
        device_map=place,
        output_loading_info=True,
    )
    # transformers fills what a file lacks with random numbers, and goes on.
    missing = sorted(found["missing_keys"]) + [str(key) for key in found["mismatched_keys"]]
    if missing:
        raise FlybenchError(
            f"{info.ref.path} lacks {len(missing)} of the model's weights, {missing[0]} first: "
            "fetch it again, or check that config.json belongs to these weights."
        )
    return model.eval()
