"""Training data of a drafter: the answers, the held-out ones, and the draft vocabulary."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn
from tqdm import tqdm
from transformers import PreTrainedModel

from flybench.core.errors import FlybenchError
from flybench.decode import Decoder, StopRule
from flybench.train.corpus import Sample, batches, split
from flybench.train.optimise import Loss, Schedule, optimise
from flybench.train.settings import TrainingSettings
from flybench.train.vocabulary import DraftVocabulary, coverage, frequent

ALL, MANIFEST = "all", "begun.json"


@dataclass(frozen=True)
class TrainingSet:
    """Answers of a target to train on, held-out answers, and the most frequent ids."""

    train: list[Sample]
    held_out: list[Sample]
    vocabulary: DraftVocabulary
    settings: TrainingSettings

    @classmethod
    def of(
        cls, corpus: Sequence[Sample], target: PreTrainedModel, settings: TrainingSettings
    ) -> TrainingSet:
        """Split a corpus and count its ids.

        Raises:
            FlybenchError: there are too few answers.
        """
        # A longer text can be neither trained on nor measured.
        whole = [s for s in corpus if len(s.prompt) + len(s.answer) <= settings.longest]
        train, held_out = split(whole, settings.held_out, settings.seed)
        if not train or not held_out:
            raise FlybenchError(
                f"{len(whole)} answers of at most train.longest={settings.longest} tokens are too "
                f"few to hold out {settings.held_out:.0%}: add prompts, or raise train.longest."
            )
        vocab = target.config.vocab_size
        size = min(settings.draft_vocab_size, vocab)
        vocabulary = frequent((sample.answer for sample in train), size, vocab)
        return cls(train, held_out, vocabulary, settings)

    def train_module(self, module: nn.Module, loss: Loss, folder: Path, target: str) -> None:
        """Train `module`, or resume the training in `folder`.

        Raises:
            FlybenchError: it was started with other settings, answers or another `target`.
        """
        settings = self.settings
        made_of = asdict(settings) | {"target": target, "answers": _digest(self.train)}
        later = ("measured", "save_every")
        fixed = {name: value for name, value in made_of.items() if name not in later}
        check_manifest(folder / MANIFEST, fixed)
        schedule = Schedule(settings.steps, settings.lr, save_every=settings.save_every)
        optimise(
            module, loss, lambda n: batches(self.train, settings.batch_tokens, n), schedule, folder
        )

    def facts(self, target: str) -> dict[str, Any]:
        """Return the facts of the training set for the model card."""
        ids = self.vocabulary.ids
        return {
            "target": target,
            "answers": {"trained": len(self.train), "held_out": len(self.held_out)},
            "prompts_by_domain": dict(
                Counter(domain for _, domain in {(tuple(s.prompt), s.domain) for s in self.train})
            ),
            "answer_tokens": sum(len(sample.answer) for sample in self.train),
            "coverage": self.vocabulary.coverage,
            "held_out_coverage": coverage(ids, (sample.answer for sample in self.held_out)),
            "settings": asdict(self.settings),
        }

    def measure(self, decoders: Mapping[str, Decoder], ends: Sequence[int]) -> dict[str, Any]:
        """Decode held-out prompts with each named method.

        Returns the tokens per pass of the target (τ), overall and by domain.
        """
        texts = {tuple(sample.prompt): sample for sample in self.held_out}
        samples = sorted(texts.values(), key=lambda sample: sample.prompt)
        random.Random(self.settings.seed).shuffle(samples)
        samples = samples[: self.settings.measured]
        return {
            "measured_prompts": dict(Counter(sample.domain for sample in samples)),
            "tau": {name: _tau(name, decoder, samples, ends) for name, decoder in decoders.items()},
        }


def check_manifest(path: Path, made_of: Mapping[str, Any]) -> None:
    """Write the inputs of a training into `path`; an existing manifest must be equal.

    Raises:
        FlybenchError: it differs.
    """
    plain = json.loads(json.dumps(made_of))
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(plain, indent=2) + "\n")
        return
    known = json.loads(path.read_text())
    for name in [*known, *plain]:
        if known.get(name) != plain.get(name):
            raise FlybenchError(
                f"{path.parent} was started with {name}={known.get(name)}, which is now "
                f"{plain.get(name)}: set out= to another folder, or remove this one."
            )


def _digest(samples: Sequence[Sample]) -> str:
    text = json.dumps([sample[:2] for sample in samples])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _tau(
    name: str, decoder: Decoder, samples: Sequence[Sample], ends: Sequence[int]
) -> dict[str, float]:
    tokens: Counter[str] = Counter()
    rounds: Counter[str] = Counter()
    for sample in tqdm(samples, desc=name, disable=None):
        stop = StopRule(frozenset(ends), len(sample.answer))
        found = decoder.decode(sample.prompt, stop)
        for group in (sample.domain, ALL):
            tokens[group] += len(found.ids)
            rounds[group] += len(found.rounds)
    return {group: tokens[group] / rounds[group] for group in sorted(tokens)}
