"""Load the weights of a described pair onto an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedModel
from transformers.distributed.configuration_utils import DistributedConfig

from flybench.config import EngineConfig
from flybench.core.errors import FlybenchError
from flybench.engine.base import CachedModel, Target
from flybench.engine.cost.footprint import Footprint, footprint
from flybench.engine.drafters.layer_skip import same_weights, without_layers
from flybench.engine.drafters.shared_embeddings import attach_layers
from flybench.engine.drafters.vocabulary_trim import trim_output
from flybench.engine.eager.model import EagerModel, EagerTarget
from flybench.engine.eagle3.checkpoint import HeadSource, load_head
from flybench.engine.eagle3.model import HeadModel, head_footprint
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph.shards import shard
from flybench.engine.graph.target import GraphTarget
from flybench.engine.loading.description import ModelInfo, read_with
from flybench.engine.loading.placement import Described, placed, resolve_dtype
from flybench.engine.loading.quantised import loading_options
from flybench.engine.loading.random_models import random_model
from flybench.engine.loading.source import local_folder


@dataclass(frozen=True)
class LoadedPair:
    """A loaded pair with the footprint of each model.

    `draft` and its footprint are None if the method needs neither a draft model nor a head.
    `draft_ids` are the ids that it may propose, None for all.
    """

    target: Target
    draft: CachedModel | HeadModel | None
    dtype: torch.dtype
    target_footprint: Footprint
    draft_footprint: Footprint | None
    draft_ids: Tensor | None = None


def load_pair(
    target: ModelInfo,
    draft: ModelInfo | None,
    vocab_size: int,
    engine: EngineConfig,
    max_length: int,
    head_source: HeadSource | None = None,
) -> LoadedPair:
    """Load the weights of a described pair for texts of up to `max_length` tokens.

    A head replaces the draft model, and the target is tapped for it.
    """

    models = load_models(target, draft, partial(load_model, engine=engine), engine.tp)
    # Counted first, because an engine may modify the model in place.
    footprints = [footprint(model) for model in models]
    if head_source is not None:
        head = load_head(head_source.folder, models[0])
        on_target, _ = on_engine(models[:1], vocab_size, engine, max_length, head.config.taps)
        drafting, reads = HeadModel(head, max_length, engine.kind == "graph"), head_footprint(head)
        dtype, ids = models[0].dtype, head.draft_ids
        return LoadedPair(on_target, drafting, dtype, footprints[0], reads, ids)
    on_target, on_draft = on_engine(models, vocab_size, engine, max_length)
    small = None if draft is None else footprints[1]
    draft_ids = None if draft is None else draft.draft_ids
    return LoadedPair(on_target, on_draft, models[0].dtype, footprints[0], small, draft_ids)


Info = TypeVar("Info", bound=Described, contravariant=True)


# What is left out of a model after it is loaded.
FULL_MODEL: dict[str, Any] = {"skip_layers": None, "vocab_trim": None}


class Load(Protocol[Info]):
    """Loads a described model, or this rank's part of it."""

    def __call__(self, info: Info, *, sharded: bool) -> PreTrainedModel: ...


def load_models(
    target: Info, draft: Info | None, load: Load[Info], ranks: int = 1
) -> list[PreTrainedModel]:
    """Load the target and the draft, if any; they share tensors if they are the same model.

    With several `ranks`, each loads a part of the target and the whole draft.
    """
    whole = load(target, sharded=ranks > 1)
    models = [_prune(whole, target)]
    if draft is not None:
        models.append(_prune(_draft_base(whole, target, draft, load, ranks), draft))
    return models


def _draft_base(
    whole: PreTrainedModel, target: Info, draft: Info, load: Load[Info], ranks: int
) -> PreTrainedModel:
    """Return the base of a draft: its own weights, or those of the target in whole or in part."""
    if draft.draft_layers is not None:
        return attach_layers(whole, draft.draft_layers)
    same = replace(draft.ref, **FULL_MODEL) == replace(target.ref, **FULL_MODEL)
    return same_weights(whole) if same and ranks == 1 else load(draft, sharded=False)


def on_engine(
    models: Sequence[PreTrainedModel],
    vocab_size: int,
    engine: EngineConfig,
    max_length: int,
    taps: Sequence[int] = (),
) -> tuple[Target, CachedModel | None]:
    """Return a target, tapped at `taps`, and a draft if there is a second model."""
    if engine.kind == "graph":
        # Every rank has a complete draft model, and the target reads the ids of rank 0. No
        # result depends on a draft's last bits, so it may always read one token the fastest way.
        roles = ((engine.tp, engine.row_invariant, taps), (1, False, ()))
        fast = [
            GraphModel(model, vocab_size, max_length, *role)
            for model, role in zip(models, roles, strict=False)
        ]
        return GraphTarget(fast[0]), fast[1] if len(fast) > 1 else None
    plain = [
        EagerModel(model, vocab_size, tapped)
        for model, tapped in zip(models, (taps, ()), strict=False)
    ]
    return EagerTarget(plain[0]), plain[1] if len(plain) > 1 else None


def _prune(model: PreTrainedModel, info: Described) -> PreTrainedModel:
    """Remove the layers and the rows of the output layer that its description leaves out."""
    if info.ref.skip_layers:
        model = without_layers(model, *info.ref.skip_layers)
    return model if info.draft_ids is None else trim_output(model, info.draft_ids)


def load_model(info: ModelInfo, engine: EngineConfig, sharded: bool = False) -> PreTrainedModel:
    """Load one model on its device, in the dtype of its configuration or of `engine`.

    If `sharded`, each rank reads and holds only its part.
    """
    device, dtype = placed(info, engine), resolve_dtype(info, engine)
    if info.source.kind == "random":
        model = random_model(info.source.location)
        model = model.to(device=device, dtype=dtype)  # type: ignore[call-arg]
        return shard(model) if sharded else model
    where: dict[str, Any] = {"device_map": device or "balanced"}
    if sharded:
        where = {"distributed_config": DistributedConfig(tp_size=engine.tp)}
    model, found = read_with(
        AutoModelForCausalLM,
        info.ref,
        local_folder(info.source),
        dtype=dtype,
        output_loading_info=True,
        **where,
        **loading_options(info.ref, dtype),
    )
    # transformers initialises missing tensors randomly without an error.
    missing = sorted(found["missing_keys"]) + [str(key) for key in found["mismatched_keys"]]
    if missing:
        raise FlybenchError(
            f"{info.ref.path} lacks {len(missing)} of the model's tensors, such as {missing[0]}: "
            "download it again, or check that config.json belongs to these weights."
        )
    return shard(model.eval()) if sharded else model.eval()
