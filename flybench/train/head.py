"""From a corpus of a target's answers to an EAGLE-3 head for it, with a card that says how good."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from tqdm import tqdm
from transformers import LlamaConfig, PreTrainedModel

from flybench.checks import positive
from flybench.core import FlybenchError
from flybench.decode import Decoder, StopRule
from flybench.draft.eagle3 import Eagle3Drafter, Shape
from flybench.engine.eager import EagerModel, EagerTarget
from flybench.engine.eagle3.checkpoint import load_head, save_head
from flybench.engine.eagle3.head import Eagle3Head, HeadConfig
from flybench.engine.eagle3.layout import default_taps
from flybench.engine.eagle3.model import HeadModel
from flybench.engine.footprint import head_width
from flybench.measure import Clock
from flybench.sampling import Sampling
from flybench.train.corpus import Sample, batches, split
from flybench.train.eagle3 import HeadLesson
from flybench.train.optimise import Schedule, optimise
from flybench.train.vocabulary import DraftVocabulary, coverage, frequent
from flybench.verify.exact import ExactVerifier

CHAIN = 5


@dataclass(frozen=True)
class HeadSettings:
    """How a head is trained: `steps` of `batch_tokens` each, with texts cut at `longest` tokens.

    Training-time test takes `unroll` steps, of which step j weighs decay^j. A share `held_out` of
    the prompts is not trained on, and `measured` of these are decoded in the end.
    """

    draft_vocab_size: int = 8192
    steps: int = 2000
    lr: float = 6e-4
    batch_tokens: int = 16384
    longest: int = 1024
    unroll: int = 4
    decay: float = 0.8
    held_out: float = 0.05
    measured: int = 20
    seed: int = 0
    save_every: int = 200

    def __post_init__(self) -> None:
        for name in (
            "draft_vocab_size",
            "steps",
            "batch_tokens",
            "longest",
            "unroll",
            "save_every",
        ):
            positive(f"train.{name}", getattr(self, name))
        if not 0 < self.held_out < 1:
            raise FlybenchError(
                f"train.held_out={self.held_out:g} is not allowed: use a share between 0 and 1."
            )


def train_head(
    target: PreTrainedModel,
    corpus: Sequence[Sample],
    ends: Sequence[int],
    settings: HeadSettings,
    folder: Path,
    verifier: str,
) -> dict[str, Any]:
    """Train, measure and save a head in `folder`; a run that was stopped there is continued.

    `target` runs as transformers has it; it is tapped, and its weights are frozen. Returns what the
    card tells.
    """
    train, held_out = split(corpus, settings.held_out, settings.seed)
    if not train or not held_out:
        raise FlybenchError(
            f"{len(corpus)} answers are too few to hold {settings.held_out:.0%} of them out: give "
            "more prompts."
        )
    target.requires_grad_(False)
    size = min(settings.draft_vocab_size, target.config.vocab_size)
    words = frequent((sample.answer for sample in train), size, target.config.vocab_size)
    torch.manual_seed(settings.seed)
    head = new_head(target, words)
    lesson = HeadLesson(head, target, settings.unroll, settings.decay)
    limits = (settings.batch_tokens, settings.longest)
    schedule = Schedule(settings.steps, settings.lr, save_every=settings.save_every)
    optimise(head, lesson.loss, lambda epoch: batches(train, *limits, epoch), schedule, folder)
    save_head(head.to(target.dtype), folder, verifier, CHAIN)
    facts = {
        "target": verifier,
        "answers": {"trained": len(train), "held_out": len(held_out)},
        "answer_tokens": sum(len(sample.answer) for sample in train),
        "coverage": words.coverage,
        "held_out_coverage": coverage(words.ids, (sample.answer for sample in held_out)),
        "settings": asdict(settings),
        **measure_head(target, folder, held_out[: settings.measured], ends),
    }
    (folder / "training.json").write_text(json.dumps(facts, indent=2) + "\n")
    return facts


def new_head(target: PreTrainedModel, words: DraftVocabulary) -> Eagle3Head:
    """An untrained head with a layer of the target's sizes; it scores with the target's rows."""
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
        HeadConfig(layer, config.hidden_size, config.vocab_size, len(words.ids), taps)
    )
    head.d2t.copy_(words.d2t)
    head.t2d.fill_(False).index_fill_(0, words.ids, True)
    head = head.to(target.device)
    table, output = (
        cast(Tensor, module.weight).data
        for module in (target.get_input_embeddings(), target.get_output_embeddings())
    )
    head.embed_tokens.weight = nn.Parameter(table, requires_grad=False)
    with torch.no_grad():
        head.lm_head.weight.copy_(output[words.ids.to(target.device)])
    return head


def measure_head(
    target: PreTrainedModel, folder: Path, held_out: Sequence[Sample], ends: Sequence[int]
) -> dict[str, Any]:
    """Tokens per pass of the target (τ) on held-out prompts, greedily."""
    head = load_head(folder, target)
    longest = max(len(s.prompt) + len(s.answer) for s in held_out) + 1
    engine = EagerTarget(EagerModel(target, target.config.vocab_size, head.config.taps))
    drafter = Eagle3Drafter(HeadModel(head, longest, captured=False), Shape(CHAIN))
    clock = Clock(target.device)
    decoder = Decoder(engine, drafter, ExactVerifier(), CHAIN, Sampling(), clock)
    tokens = rounds = 0
    for sample in tqdm(held_out, desc="measure", disable=None):
        stop = StopRule(frozenset(ends), len(sample.answer))
        found = decoder.decode(sample.prompt, stop)
        tokens += len(found.ids)
        rounds += len(found.rounds)
    return {"chain": CHAIN, "tau": tokens / rounds, "prompts": len(held_out)}
