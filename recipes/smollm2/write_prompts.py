"""Write prompts for training the drafters of the default pair, as JSON lines.

    python recipes/smollm2/write_prompts.py [--count 12000] [--gsm8k train.jsonl] > prompts.jsonl

Prompts are composed from `parts.yaml`, which was written for this purpose. With the file of GSM8K's
training split, its problems are added with their solutions. Nothing is taken from a test set: GSM8K
test, HumanEval, MT-Bench, MGSM, ACPBench and the demo task are held out.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

PARTS: dict[str, list[Any]] = yaml.safe_load(Path(__file__).with_name("parts.yaml").read_text())


def math(rng: random.Random) -> str:
    """Return a word problem."""
    a, b = rng.sample(PARTS["names"], 2)
    filled = {
        **{"a": a, "b": b, "t": rng.choice(PARTS["things"]), "p": rng.choice(PARTS["places"])},
        **{"x": rng.randint(10, 40), "y": rng.randint(2, 9), "z": rng.randint(2, 9)},
        "w": 10 * rng.randint(9, 20),
    }
    question, ending = rng.choice(PARTS["sums"]), rng.choice(PARTS["endings"])
    return f"{question.format(**filled)} {ending}".strip()


def code(rng: random.Random) -> str:
    """Return a request for a function."""
    function = rng.choice(PARTS["functions"])
    filled = {"f": function["name"], "v": function["arguments"], "d": function["does"]}
    language = rng.choice(PARTS["languages"])
    asking = rng.choice(PARTS["asking"])
    return str(asking.format(**filled, D=filled["d"].capitalize(), language=language))


def chat(rng: random.Random) -> str:
    """Return a request for a text or an explanation."""
    form = rng.choice(PARTS["forms"])
    return str(form.format(t=rng.choice(PARTS["topics"]), a=rng.choice(PARTS["names"])))


DOMAINS: dict[str, Callable[[random.Random], str]] = {"math": math, "code": code, "chat": chat}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=12000, help="prompts to draw, with duplicates")
    parser.add_argument("--gsm8k", type=Path, help="GSM8K's train.jsonl")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    rows = set()
    for domain, write in DOMAINS.items():
        for _ in range(options.count // len(DOMAINS)):
            rows.add((domain, write(rng)))
    for domain, prompt in sorted(rows):
        print(json.dumps({"domain": domain, "prompt": prompt}))
    if options.gsm8k is not None:
        for line in options.gsm8k.read_text().splitlines():
            row = json.loads(line)
            found = {"prompt": row["question"], "solution": row["answer"]}
            print(json.dumps({"domain": "gsm8k"} | found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
