"""Makes the drafters of the default pair, SmolLM2-135M-Instruct's, from its own answers.

    python recipes/smollm2/pair.py answers --target FOLDER --prompts prompts.jsonl --out OUT
    python recipes/smollm2/pair.py head --target FOLDER --out OUT [--steps 3000]
    python recipes/smollm2/pair.py draft --target FOLDER --out OUT [--steps 3000]

FOLDER holds the model. `answers` lets it write prompts of its own too (the opening of a user's turn
is given, and it goes on: Magpie, arXiv 2406.08464), puts solved problems before some that have
solutions, then lets it answer all of them, greedily and once more by sampling. `head` trains an
EAGLE-3 head and `draft` a draft model of three layers; both go on where they were stopped. Meant
for a GPU; neither Hydra nor lm-eval is needed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from flybench.sampling import Sampling
from flybench.tasks.chat import Chat
from flybench.train.answers import BatchAnswerer, answer_all
from flybench.train.card import draft_card, head_card
from flybench.train.corpus import Sample, read_corpus, write_corpus
from flybench.train.draft import DraftSettings, train_draft
from flybench.train.head import HeadSettings, train_head

NAME = "SmolLM2-135M-Instruct"
LONGEST_PROMPT = 160
SHOWN = (
    448  # tokens of every prompt with two solved problems: one length, so that they share batches
)
PROMPTING, ANSWERING = Sampling(1.0, top_p=0.95), (Sampling(), Sampling(0.7))


class Target:
    """The model with its tokenizer, which answers in batches."""

    def __init__(self, folder: Path, batch: int, answer_tokens: int) -> None:
        self._batch, self._longest = batch, SHOWN + answer_tokens
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        dtype = torch.bfloat16 if self.device == "cuda" else torch.float32
        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
        self.model: PreTrainedModel = model.to(self.device).eval().requires_grad_(False)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        self.chat = Chat(tokenizer, "auto")
        self.ends = [int(tokenizer.eos_token_id)]

    def asked(self, *turns: str) -> list[int]:
        """The user's prompt, or turns of both that end with the user's."""
        roles = itertools.cycle(("user", "assistant"))
        messages = [{"role": r, "content": t} for r, t in zip(roles, turns, strict=False)]
        return self.chat.encode(self.chat.render(messages))

    def opened(self, opening: str) -> list[int]:
        """A user's turn that only begins."""
        whole = self.chat.render([{"role": "user", "content": "@"}])
        return self.chat.encode(whole[: whole.index("@")] + opening)

    def write(self, texts: list[list[int]], most: int, sampling: Sampling) -> list[list[int]]:
        """What follows each text; the model is rewired for it, and good for nothing else."""
        size = self.model.config.vocab_size
        answerer = BatchAnswerer(self.model, size, self._batch, self._longest, sampling)
        return answer_all(answerer, texts, self.ends, most, self._batch)


def own_prompts(target: Target, count: int) -> list[str]:
    """Prompts that the target wrote and ended, each once."""
    parts = yaml.safe_load(Path(__file__).with_name("parts.yaml").read_text())
    rng = random.Random(1)
    openings = [rng.choice(parts["openings"]) for _ in range(count)]
    texts = [target.opened(opening) for opening in openings]
    rests = target.write(texts, LONGEST_PROMPT - max(map(len, texts)), PROMPTING)
    whole = (
        opening + target.chat.spell(rest[:-1])
        for opening, rest in zip(openings, rests, strict=True)
        if rest[-1] in target.ends
    )
    return sorted({text.strip() for text in whole if len(text.strip()) > 8})


def shown(target: Target, rows: list[dict[str, str]], count: int) -> list[list[int]]:
    """Problems behind two solved ones, as few-shot tasks put them, all of `SHOWN` tokens."""
    rng = random.Random(2)
    pairs = [(f"Question: {row['prompt']}\nAnswer:", row["solution"]) for row in rows]
    last = pairs[0][0]
    alone = len(target.asked(last))
    costs = [len(target.asked(*pair, last)) - alone for pair in pairs]
    by_cost: dict[int, list[tuple[str, str]]] = {}
    for pair, cost in zip(pairs, costs, strict=True):
        by_cost.setdefault(cost, []).append(pair)
    found = []
    for _ in range(count):
        (question, _), first = rng.choice(pairs), rng.randrange(len(pairs))
        room = SHOWN - len(target.asked(question)) - costs[first]
        second = rng.choice(by_cost.get(room, [pairs[first]]))
        if question not in (pairs[first][0], second[0]):
            found.append(target.asked(*pairs[first], *second, question))
    return [ids for ids in found if len(ids) == SHOWN]


def answers(options: argparse.Namespace) -> None:
    """Prompts of every domain with the target's answers, as OUT/corpus.jsonl."""
    target = Target(options.target, options.batch, options.answer_tokens)
    rows = [json.loads(line) for line in options.prompts.read_text().splitlines()]
    pairs = [(row["prompt"], row["domain"]) for row in rows]
    pairs += [(prompt, "own") for prompt in own_prompts(target, options.own)]
    asked = [(target.asked(prompt), domain) for prompt, domain in pairs]
    asked = [(ids, domain) for ids, domain in asked if len(ids) <= LONGEST_PROMPT]
    solved = [row for row in rows if "solution" in row]
    asked += [(ids, "gsm8k shown") for ids in shown(target, solved, options.shown if solved else 0)]
    samples = []
    for sampling in ANSWERING:
        found = target.write([ids for ids, _ in asked], options.answer_tokens, sampling)
        samples += [Sample(ids, a, d) for (ids, d), a in zip(asked, found, strict=True)]
    write_corpus(options.out / "corpus.jsonl", samples)
    tokens = sum(len(sample.answer) for sample in samples)
    print(json.dumps({"prompts": len(asked), "answers": len(samples), "tokens": tokens}))


def head(options: argparse.Namespace) -> None:
    """The EAGLE-3 head, in OUT/head."""
    settings = HeadSettings(**common(options))
    learn(options, "head", partial(train_head, settings=settings), head_card)


def draft(options: argparse.Namespace) -> None:
    """The draft model, in OUT/draft."""
    settings = DraftSettings(**common(options))
    learn(options, "draft", partial(train_draft, settings=settings), draft_card)


def common(options: argparse.Namespace) -> dict[str, Any]:
    names = ("steps", "lr", "batch_tokens", "measured")
    given = {name: getattr(options, name) for name in names}
    return given | {
        "draft_vocab_size": options.vocabulary,
        "longest": SHOWN + options.answer_tokens,
    }


def learn(
    options: argparse.Namespace,
    name: str,
    train: Callable[..., dict[str, Any]],
    card: Callable[[dict[str, Any], str], str],
) -> None:
    """Train a drafter in OUT/`name`, and write its card."""
    target = Target(options.target, options.batch, options.answer_tokens)
    corpus, folder = read_corpus(options.out / "corpus.jsonl"), options.out / name
    facts = train(target.model, corpus, target.ends, folder=folder, name=NAME)
    (folder / "README.md").write_text(card(facts, "recipes/smollm2/write_prompts.py"))
    shown = ("tau", "tau_by_domain", "k", "coverage", "prompts")
    print(json.dumps({name: facts[name] for name in shown}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("answers", "head", "draft"))
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--prompts", type=Path)
    parser.add_argument("--own", type=int, default=20000, help="prompts that the target begins")
    parser.add_argument("--shown", type=int, default=6000, help="tries at few-shot prompts")
    parser.add_argument("--answer-tokens", type=int, default=256)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=6144)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--batch-tokens", type=int, default=32768)
    parser.add_argument("--measured", type=int, default=60, help="held-out prompts to decode")
    options = parser.parse_args()
    {"answers": answers, "head": head, "draft": draft}[options.step](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
