"""The pair to time, with its own weights or with random ones of the same shapes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from transformers import PreTrainedModel

from flybench.config import EngineConfig, ModelConfig
from flybench.distributed import join
from flybench.engine.cost.work import ModelWork
from flybench.engine.loading.description import describe_pair
from flybench.engine.loading.load import load_model, load_models
from flybench.engine.loading.placement import choose_engine, engine_label
from flybench.engine.loading.untrained import architecture, fill, untrained_draft

ROLES = ("target", "draft")
REF = ("path", "skip_layers", "quantize", "shape")


@dataclass(frozen=True)
class TimedModel:
    """A loaded model; `facts` are its name and its sizes, or those of this rank's part."""

    role: str
    facts: dict[str, Any]
    model: PreTrainedModel
    context_limit: int
    model_work: ModelWork


@dataclass(frozen=True)
class TimedPair:
    """The models of a pair by role.

    `engine` has its kind decided, `label` is its name with the placement of the models, and `note`
    is the reason if it is not the preferred one.
    """

    name: str
    weights: str
    engine: EngineConfig
    label: str
    note: str | None
    models: dict[str, TimedModel]
    vocab_size: int


def load_timed(
    config: ModelConfig, with_draft: bool, engine: EngineConfig, weights: str, device: torch.device
) -> TimedPair:
    """Load the target and, `with_draft`, the draft; `weights` is `own` or `random`.

    Raises:
        FlybenchError: a model cannot be found, downloaded, or placed on its device.
    """
    refs = [config.target, *([config.draft] if with_draft and config.draft else [])]
    if weights == "random":
        first = architecture(refs[0])
        shapes = [first, *(untrained_draft(ref, first) or architecture(ref) for ref in refs[1:])]
        chosen, note = choose_engine(engine, shapes, device)
        label = engine_label(chosen, shapes)
        second = shapes[1] if len(shapes) > 1 else None
        join(device)
        models = load_models(shapes[0], second, partial(fill, engine=chosen), chosen.tp)
        vocab = min(info.config.get_text_config().vocab_size for info in shapes)
    else:
        target, draft, vocab = describe_pair(config, with_draft)
        infos = [info for info in (target, draft) if info is not None]
        chosen, note = choose_engine(engine, infos, device)
        label = engine_label(chosen, infos)
        join(device)
        models = load_models(target, draft, partial(load_model, engine=chosen), chosen.tp)
    named = {
        role: _costed(role, {name: asdict(ref)[name] for name in REF} | {"ranks": ranks}, model)
        for role, ref, model, ranks in zip(ROLES, refs, models, (chosen.tp, 1), strict=False)
    }
    return TimedPair(config.name, weights, chosen, label, note, named, vocab)


def _costed(role: str, known: dict[str, Any], model: PreTrainedModel) -> TimedModel:
    model_work = ModelWork.of(model)
    facts = known | {
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": str(model.device),
        "resident_bytes": model.get_memory_footprint(),
        "parameters": model_work.parameters,
        "weight_bytes": model_work.weight_bytes,
        "kv_bytes_per_token": model_work.kv_bytes_per_token,
    }
    limit = model.config.get_text_config().max_position_embeddings
    return TimedModel(role, facts, model, limit, model_work)
