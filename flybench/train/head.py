"""Training of an EAGLE-3 head from a corpus of answers of its target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, PreTrainedModel

from flybench.decode import Decoder
from flybench.draft.base import DraftSetup
from flybench.draft.eagle3 import Eagle3Drafter
from flybench.engine.cost.footprint import head_width
from flybench.engine.eager.model import EagerModel, EagerTarget
from flybench.engine.eagle3.checkpoint import load_head, save_head
from flybench.engine.eagle3.checkpoint_layout import default_taps
from flybench.engine.eagle3.head import Eagle3Head, HeadConfig
from flybench.engine.eagle3.model import HeadModel
from flybench.measure.clock import Clock
from flybench.sampling import Sampling
from flybench.train.corpus import Sample
from flybench.train.eagle3 import HeadLoss
from flybench.train.settings import HeadSettings
from flybench.train.training_set import TrainingSet
from flybench.train.vocabulary import DraftVocabulary
from flybench.verify.exact import ExactVerifier

CHAIN = 5
# K and the drafter's settings.
SHAPES = {"chain of 5": (CHAIN, {}), "tree of 59": (59, {"tree_depth": 5, "tree_top_k": 10})}


def train_head(
    target: PreTrainedModel,
    corpus: Sequence[Sample],
    ends: Sequence[int],
    settings: HeadSettings,
    folder: Path,
    name: str,
) -> dict[str, Any]:
    """Train, measure and save a head in `folder`; a stopped training is resumed.

    `target` is tapped, and its weights are frozen. Returns the facts for the model card.
    """
    training_set = TrainingSet.of(corpus, target, settings)
    target.requires_grad_(False)
    torch.manual_seed(settings.seed)
    head = new_head(target, training_set.vocabulary)
    loss = HeadLoss(head, target, settings.unroll, settings.decay)
    training_set.train_module(head, loss, folder, name)
    save_head(head.to(target.dtype), folder, name, CHAIN)
    decoders = head_decoders(target, folder, settings.longest)
    return training_set.facts(name) | training_set.measure(decoders, ends)


def head_decoders(target: PreTrainedModel, folder: Path, longest: int) -> dict[str, Decoder]:
    """Return decoders with the head in `folder`, for texts of up to `longest` tokens: a chain and a
    tree."""
    head = load_head(folder, target)
    engine = EagerTarget(EagerModel(target, target.config.vocab_size, head.config.taps))
    clock, found = Clock(target.device), {}
    for name, (k, shape) in SHAPES.items():
        model = HeadModel(head, longest + 1, captured=False)
        drafter = Eagle3Drafter(DraftSetup(target.device, k, Sampling(), model), **shape)
        found[name] = Decoder(engine, drafter, ExactVerifier(), k, Sampling(), clock)
    return found


def new_head(target: PreTrainedModel, vocabulary: DraftVocabulary) -> Eagle3Head:
    """Return an untrained head with a layer of the target's sizes; its output layer is a copy of
    the target's rows."""
    config = target.config.get_text_config()
    sizes = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads")
    rope = getattr(config, "rope_parameters", None) or {}
    layer = LlamaConfig(
        **{name: getattr(config, name) for name in sizes},
        head_dim=head_width(config),
        rms_norm_eps=getattr(config, "rms_norm_eps", 1e-6),
        max_position_embeddings=config.max_position_embeddings,
        rope_parameters=rope.get("full_attention", rope) or None,
    )
    taps = default_taps(config.num_hidden_layers)
    head = Eagle3Head(
        HeadConfig(layer, config.hidden_size, config.vocab_size, len(vocabulary.ids), taps)
    )
    head.d2t.copy_(vocabulary.d2t)
    head.t2d.fill_(False).index_fill_(0, vocabulary.ids, True)
    head = head.to(target.device)
    table, output = (
        cast(Tensor, module.weight).data
        for module in (target.get_input_embeddings(), target.get_output_embeddings())
    )
    head.embed_tokens.weight = nn.Parameter(table, requires_grad=False)
    with torch.no_grad():
        head.lm_head.weight.copy_(output[vocabulary.ids.to(target.device)])
    return head
