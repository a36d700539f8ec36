"""Decode the target's answers to prompts, on which its drafters are trained.

    python recipes/smollm2/answer.py --target FOLDER --prompts prompts.jsonl --out OUT

FOLDER contains the model. The target also writes prompts: it continues the beginning of a user turn
(Magpie, arXiv 2406.08464). Some prompts with solutions become few-shot prompts with two solved
problems. All prompts are answered greedily and once by sampling. Use a GPU.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

import yaml
from target import ANSWER, LONGEST_PROMPT, SHOWN, Target

from flybench.sampling import Sampling
from flybench.train.answers import BatchGenerator, answer_all
from flybench.train.corpus import Sample, write_corpus

PROMPTING, ANSWERING = Sampling(1.0, top_p=0.95), (Sampling(), Sampling(0.7))


class Writer:
    """Continues texts with the target, whose model is modified and cannot be used otherwise."""

    def __init__(self, target: Target, batch: int, answer_tokens: int) -> None:
        self._target, self._batch = target, batch
        self._longest = SHOWN + answer_tokens

    def write(self, texts: list[list[int]], most: int, sampling: Sampling) -> list[list[int]]:
        """Return at most `most` ids after each text."""
        model, ends = self._target.model, self._target.ends
        size = model.config.vocab_size
        answerer = BatchGenerator(model, size, self._batch, self._longest, sampling)
        return answer_all(answerer, texts, ends, most, self._batch)


def own_prompts(target: Target, writer: Writer, count: int) -> list[str]:
    """Return distinct prompts that the target wrote and ended."""
    parts = yaml.safe_load(Path(__file__).with_name("parts.yaml").read_text())
    rng = random.Random(1)
    openings = [rng.choice(parts["openings"]) for _ in range(count)]
    texts = [target.opened(opening) for opening in openings]
    rests = writer.write(texts, LONGEST_PROMPT - max(map(len, texts)), PROMPTING)
    whole = (
        opening + target.chat.detokenize(rest[:-1])
        for opening, rest in zip(openings, rests, strict=True)
        if rest[-1] in target.ends
    )
    return sorted({text.strip() for text in whole if len(text.strip()) > 8})


def shown(target: Target, rows: list[dict[str, str]], count: int) -> list[list[int]]:
    """Return few-shot prompts with two solved problems, all with `SHOWN` tokens."""
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
    """Write prompts of every domain with the target's answers to OUT/corpus.jsonl."""
    target = Target(options.target)
    writer = Writer(target, options.batch, options.answer_tokens)
    rows = [json.loads(line) for line in options.prompts.read_text().splitlines()]
    pairs = [(row["prompt"], row["domain"]) for row in rows]
    pairs += [(prompt, "own") for prompt in own_prompts(target, writer, options.own)]
    asked = [(target.asked(prompt), domain) for prompt, domain in pairs]
    asked = [(ids, domain) for ids, domain in asked if len(ids) <= LONGEST_PROMPT]
    solved = [row for row in rows if "solution" in row]
    asked += [(ids, "gsm8k shown") for ids in shown(target, solved, options.shown if solved else 0)]
    samples = []
    for sampling in ANSWERING:
        found = writer.write([ids for ids, _ in asked], options.answer_tokens, sampling)
        samples += [Sample(ids, a, d) for (ids, d), a in zip(asked, found, strict=True)]
    write_corpus(options.out / "corpus.jsonl", samples)
    tokens = sum(len(sample.answer) for sample in samples)
    print(json.dumps({"prompts": len(asked), "answers": len(samples), "tokens": tokens}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--prompts", type=Path, required=True)
    parser.add_argument("--own", type=int, default=20000, help="prompts for the target to write")
    parser.add_argument("--shown", type=int, default=4000, help="few-shot prompts to try")
    parser.add_argument("--answer-tokens", type=int, default=ANSWER)
    parser.add_argument("--batch", type=int, default=256)
    answers(parser.parse_args())
    return 0


if __name__ == "__main__":
    sys.exit(main())
