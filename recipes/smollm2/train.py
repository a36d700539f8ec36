"""Train the drafters of the default pair on the answers in OUT/corpus.jsonl.

    python recipes/smollm2/train.py head --target FOLDER --out OUT [--steps 1800]
    python recipes/smollm2/train.py draft --target FOLDER --out OUT --steps 3000 --batch-tokens 8192
    python recipes/smollm2/train.py measure --target FOLDER --out OUT [--measured 60]

FOLDER contains the model. `head` trains an EAGLE-3 head and `draft` a draft model of three layers;
both resume after an interruption. `measure` decodes held-out prompts with the drafters in OUT and
updates their model cards. Use a GPU, except for `measure`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from target import ANSWER, NAME, SHOWN, Target

from flybench.decode import Decoder
from flybench.train.corpus import read_corpus
from flybench.train.draft import DraftSettings, draft_decoders, train_draft
from flybench.train.head import head_decoders, train_head
from flybench.train.model_card import Card, draft_card, head_card, publish
from flybench.train.settings import HeadSettings, TrainingSettings
from flybench.train.training_set import TrainingSet

LONGEST = SHOWN + ANSWER


def head(options: argparse.Namespace) -> None:
    """Train the EAGLE-3 head in OUT/head."""
    settings = HeadSettings(**common(options, 6144))
    learn(options, "head", partial(train_head, settings=settings), head_card)


def draft(options: argparse.Namespace) -> None:
    """Train the draft model in OUT/draft."""
    settings = DraftSettings(**common(options, 16384), layers=tuple(options.layers))
    learn(options, "draft", partial(train_draft, settings=settings), draft_card)


def common(options: argparse.Namespace, vocab_size: int) -> dict[str, Any]:
    names = ("steps", "lr", "batch_tokens", "measured")
    given = {name: getattr(options, name) for name in names}
    return given | {"draft_vocab_size": options.vocabulary or vocab_size, "longest": LONGEST}


def learn(
    options: argparse.Namespace, name: str, train: Callable[..., dict[str, Any]], card: Card
) -> None:
    """Train a drafter in OUT/`name` and write its model card."""
    target = Target(options.target)
    corpus, folder = read_corpus(options.out / "corpus.jsonl"), options.out / name
    finish(folder, train(target.model, corpus, target.ends, folder=folder, name=NAME), card)


def finish(folder: Path, facts: dict[str, Any], card: Card) -> None:
    publish(folder, facts, card, "recipes/smollm2/write_prompts.py")
    print(json.dumps({name: facts[name] for name in ("tau", "coverage")}))


def measure(options: argparse.Namespace) -> None:
    """Decode held-out prompts with the drafters in OUT."""
    target = Target(options.target)
    corpus = read_corpus(options.out / "corpus.jsonl")
    kinds: dict[str, tuple[Callable[..., dict[str, Decoder]], Card]] = {
        "head": (partial(head_decoders, longest=LONGEST), head_card),
        "draft": (draft_decoders, draft_card),
    }
    for name, (decoders, card) in kinds.items():
        folder = options.out / name
        if (folder / "training.json").is_file():
            facts = json.loads((folder / "training.json").read_text())
            given = {
                field.name: facts["settings"][field.name] for field in fields(TrainingSettings)
            }
            settings = TrainingSettings(**given | {"measured": options.measured})
            training_set = TrainingSet.of(corpus, target.model, settings)
            found = training_set.measure(decoders(target.model, folder), target.ends)
            facts["settings"]["measured"] = options.measured
            finish(folder, facts | found, card)


STEPS = {"head": head, "draft": draft, "measure": measure}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    size = "draft vocabulary size (default: 6144 for a head, 16384 for a draft model)"
    parser.add_argument("--vocabulary", type=int, help=size)
    initial = "layers of the target that initialise the draft model"
    parser.add_argument("--layers", type=int, nargs="+", default=[0, 1, 29], help=initial)
    parser.add_argument("--steps", type=int, default=1800)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--batch-tokens", type=int, default=32768)
    parser.add_argument("--measured", type=int, default=60, help="held-out prompts to decode")
    options = parser.parse_args()
    STEPS[options.step](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
