"""Training of a small draft model that shares the target's embeddings, from a corpus of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from flybench.config import DraftConfig, MethodConfig
from flybench.config.checks import positive
from flybench.core.errors import FlybenchError
from flybench.decode import Decoder, build_decoder
from flybench.engine.drafters.shared_embeddings import attach_layers, read_layers, save_layers
from flybench.engine.drafters.vocabulary_trim import trim_output
from flybench.engine.eager.model import EagerModel, EagerTarget
from flybench.sampling import Sampling
from flybench.train.corpus import Sample
from flybench.train.distill import DraftLoss, make_student
from flybench.train.settings import TrainingSettings
from flybench.train.training_set import TrainingSet


@dataclass(frozen=True)
class DraftSettings(TrainingSettings):
    """Settings of a draft model, which starts as a copy of these `layers` of the target."""

    layers: tuple[int, ...] = (0, 1, 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("the number of train.layers", len(self.layers))


def train_draft(
    target: PreTrainedModel,
    corpus: Sequence[Sample],
    ends: Sequence[int],
    settings: DraftSettings,
    folder: Path,
    name: str,
) -> dict[str, Any]:
    """Train, measure and save a draft model in `folder`; a stopped training is resumed.

    The weights of `target` are frozen. Returns the facts for the model card.

    Raises:
        FlybenchError: there are too few answers, or the target lacks a layer.
    """
    total = target.config.num_hidden_layers
    if any(not -total <= layer < total for layer in settings.layers):
        raise FlybenchError(
            f"train.layers={list(settings.layers)} is not allowed: {name} has {total} layers, "
            f"0 to {total - 1}; negative numbers count from the end."
        )
    training_set = TrainingSet.of(corpus, target, settings)
    target.requires_grad_(False)
    torch.manual_seed(settings.seed)
    student = make_student(target, [layer % total for layer in settings.layers])
    loss = DraftLoss(student, target, training_set.vocabulary.ids.to(target.device))
    training_set.train_module(student, loss, folder, name)
    save_layers(student, training_set.vocabulary.by_frequency, folder, name)
    decoders = draft_decoders(target, folder)
    return training_set.facts(name) | training_set.measure(decoders, ends)


def draft_decoders(target: PreTrainedModel, folder: Path) -> dict[str, Decoder]:
    """Return decoders with the draft model in `folder`."""
    own, vocab = read_layers(folder), target.config.vocab_size
    draft = trim_output(attach_layers(target, own), own.scored(None))
    engine = EagerTarget(EagerModel(target, vocab))
    found = {}
    for k in (4, 8):
        method = MethodConfig("spd", k, DraftConfig.of("model"))
        found[f"chain of {k}"] = build_decoder(method, engine, EagerModel(draft, vocab), Sampling())
    return found
