"""What every training of a drafter begins and ends with: texts apart, words to score, a measure."""

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
from flybench.train.settings import Settings
from flybench.train.vocabulary import DraftVocabulary, coverage, frequent

ALL, BEGUN = "all", "begun.json"


@dataclass(frozen=True)
class Lessons:
    """A target's answers, those that are learned and those that are not, and the frequent ids."""

    train: list[Sample]
    held_out: list[Sample]
    words: DraftVocabulary
    settings: Settings

    @classmethod
    def of(cls, corpus: Sequence[Sample], target: PreTrainedModel, settings: Settings) -> Lessons:
        """Raises:
        FlybenchError: there are too few answers.
        """
        # Of a longer text nothing would be learned, and nothing could be measured.
        whole = [s for s in corpus if len(s.prompt) + len(s.answer) <= settings.longest]
        train, held_out = split(whole, settings.held_out, settings.seed)
        if not train or not held_out:
            raise FlybenchError(
                f"{len(whole)} answers of at most train.longest={settings.longest} tokens are too "
                f"few to hold {settings.held_out:.0%} of them out: give more prompts, or raise it."
            )
        vocab = target.config.vocab_size
        size = min(settings.draft_vocab_size, vocab)
        words = frequent((sample.answer for sample in train), size, vocab)
        return cls(train, held_out, words, settings)

    def learn(self, module: nn.Module, loss: Loss, folder: Path, target: str) -> None:
        """Train `module`, going on with what `folder` holds.

        Raises:
            FlybenchError: that was begun with other settings, answers or another `target`.
        """
        settings = self.settings
        made_of = asdict(settings) | {"target": target, "answers": _digest(self.train)}
        later = ("measured", "save_every")
        claim(folder / BEGUN, {n: value for n, value in made_of.items() if n not in later})
        schedule = Schedule(settings.steps, settings.lr, save_every=settings.save_every)
        optimise(
            module, loss, lambda n: batches(self.train, settings.batch_tokens, n), schedule, folder
        )

    def facts(self, target: str) -> dict[str, Any]:
        """What a card tells of what was learned."""
        ids = self.words.ids
        return {
            "target": target,
            "answers": {"trained": len(self.train), "held_out": len(self.held_out)},
            "prompts_by_domain": dict(
                Counter(domain for _, domain in {(tuple(s.prompt), s.domain) for s in self.train})
            ),
            "answer_tokens": sum(len(sample.answer) for sample in self.train),
            "coverage": self.words.coverage,
            "held_out_coverage": coverage(ids, (sample.answer for sample in self.held_out)),
            "settings": asdict(self.settings),
        }

    def measure(self, decoders: Mapping[str, Decoder], ends: Sequence[int]) -> dict[str, Any]:
        """Tokens per pass of the target (τ) on held-out prompts, in all and by their domain, for
        each of the named methods."""
        texts = {tuple(sample.prompt): sample for sample in self.held_out}
        samples = sorted(texts.values(), key=lambda sample: sample.prompt)
        random.Random(self.settings.seed).shuffle(samples)
        samples = samples[: self.settings.measured]
        return {
            "measured_prompts": dict(Counter(sample.domain for sample in samples)),
            "tau": {name: _tau(name, decoder, samples, ends) for name, decoder in decoders.items()},
        }


def claim(path: Path, made_of: Mapping[str, Any]) -> None:
    """Note in `path` what its folder is made of; what is noted there already must be the same.

    Raises:
        FlybenchError: it is not.
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
                f"{path.parent} was begun with {name}={known.get(name)}, and now it is "
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
