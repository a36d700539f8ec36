"""Measure the distance of each rule's distribution from the target's; print one JSON line.

    python benchmarks/distribution.py [--draws 400000]

The temperature is 1. The target is a small random model in fp32, and the draft model is the same
without one of its four layers. Both are restricted to six tokens of their vocabulary, so the
target's distribution of the first two tokens is known exactly: 36 pairs per context. A rule's
distribution is estimated from many verdicts of the shipped verifier. The distance is the total
variation. The floor is its value for equally large samples of the target itself. A lossless rule
must be at the floor. A lossy rule has a distance with a 95 % interval, corrected for the floor's
bias.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import Any, NamedTuple

import numpy as np
import torch
from measuring import machine
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm
from transformers import PreTrainedModel

from flybench.config import EXACT, VerifyConfig
from flybench.core.drafts import Branches, Draft, TargetView
from flybench.engine.drafters.layer_skip import without_layers
from flybench.engine.loading.random_models import byte_tokenizer, random_model
from flybench.sampling import Sampling, draw
from flybench.verify import build_verifier
from flybench.verify.base import Verifier

TARGET, LEFT_OUT = "llama", (1, 2)
TOKENS = torch.tensor(list(range(60, 66)))
V, K, WINDOW, LENGTH = len(TOKENS), 4, 2, 2
CONTEXTS = ("the cat sat on ", "1 + 1 = ", "def f(x):")
SAMPLING = Sampling(1.0)
TREE = torch.tensor([-1, -1, 0, 0])
RESAMPLES, CHUNK = 4000, 100_000
Floats = NDArray[np.float64]


class Rule(NamedTuple):
    """A way to draft (`sampled`, `greedy`, `tree` or `none`) and a way to verify."""

    drafts: str
    verify: VerifyConfig
    lossless: bool

    @property
    def name(self) -> str:
        known = self.verify
        if known.kind == "exact":
            return f"exact, {self.drafts} draft"
        at = f", {known['at_temperature']}, theta={known['theta']:g}"
        window = "" if known["window"] == WINDOW else f", window={known['window']}"
        return f"fly {known['rule']}{at}{window}, {self.drafts} draft"


def fly(
    rule: str, theta: float = 0.3, at_temperature: str = "native", window: int = WINDOW
) -> VerifyConfig:
    return VerifyConfig.of(
        "fly", rule=rule, theta=theta, window=window, at_temperature=at_temperature
    )


FLY_RULES = ("official", "paper", "vllm")
RULES = [
    *(Rule(drafts, EXACT, True) for drafts in ("none", "sampled", "greedy", "tree")),
    Rule("sampled", fly("official", math.inf), True),
    *(Rule("sampled", fly(rule), False) for rule in FLY_RULES),
    # Only the gate, only the window.
    Rule("sampled", fly("official", window=0), False),
    Rule("sampled", fly("official", theta=0), False),
    *(Rule("greedy", fly(rule, 0.3, "best_of_two"), False) for rule in FLY_RULES),
    Rule("greedy", fly("official", math.inf, "best_of_two"), False),
]


class Pair(NamedTuple):
    """Logits of target and draft after every continuation of a context.

    The entry of depth d is [V**d, V]. A continuation's index has its tokens as digits in base V.
    """

    target: list[Tensor]
    draft: list[Tensor]

    @classmethod
    def of(cls, context: str) -> Pair:
        ids = torch.tensor(byte_tokenizer().encode(context))
        target = random_model(TARGET)
        models = (target, without_layers(target, *LEFT_OUT))
        return cls(*(_levels(model, ids, K + LENGTH - 1) for model in models))

    def probs(self) -> Tensor:
        """Return the target's joint distribution of the first two tokens [V * V]."""
        first, second = (SAMPLING.warp(level) for level in self.target[:LENGTH])
        return (first.double().T * second.double()).flatten()


def _levels(model: PreTrainedModel, context: Tensor, depth: int) -> list[Tensor]:
    ends = torch.cartesian_prod(*[torch.arange(V)] * depth)
    texts = torch.cat([context.expand(len(ends), -1), TOKENS[ends]], 1)
    with torch.no_grad():
        logits = model(texts).logits[:, len(context) - 1 :, TOKENS]
    return [logits[:: V ** (depth - level), level] for level in range(depth + 1)]


class Proposal(NamedTuple):
    """Drafts of a batch: tokens [B, N], `probs` [B, N, V] if sampled, target logits [B, N+1, V]."""

    tokens: Tensor
    probs: Tensor | None
    logits: Tensor


def chains(
    pair: Pair, node: Tensor, depth: int, length: int, sampled: bool, generator: torch.Generator
) -> Proposal:
    tokens, probs_by_step, rows = [], [], [pair.target[depth][node]]
    for step in range(depth, depth + length):
        probs = SAMPLING.warp(pair.draft[step][node])
        tokens.append(draw(probs, generator) if sampled else probs.argmax(-1))
        probs_by_step.append(probs)
        node = node * V + tokens[-1]
        rows.append(pair.target[step + 1][node])
    chain = torch.stack(tokens, 1) if length else torch.empty(len(node), 0, dtype=torch.long)
    return Proposal(chain, torch.stack(probs_by_step, 1) if sampled else None, torch.stack(rows, 1))


def trees(pair: Pair, node: Tensor, depth: int) -> Proposal:
    """Return trees of the draft's top two tokens after the root and after the first child."""
    first = pair.draft[depth][node].topk(2).indices
    below = node[:, None] * V + first
    second = pair.draft[depth + 1][below[:, 0]].topk(2).indices
    deepest = below[:, :1] * V + second
    rows = [pair.target[depth][node][:, None], pair.target[depth + 1][below]]
    rows.append(pair.target[depth + 2][deepest])
    return Proposal(torch.cat([first, second], 1), None, torch.cat(rows, 1))


def propose(
    drafts: str, pair: Pair, node: Tensor, depth: int, generator: torch.Generator
) -> Proposal:
    if drafts == "tree":
        return trees(pair, node, depth)
    length = 0 if drafts == "none" else K
    return chains(pair, node, depth, length, drafts == "sampled", generator)


def emit(
    verifier: Verifier, made: Proposal, tree: bool, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return the tokens that each verdict emits [B, N+1], and their number [B]."""

    def judge(tokens: Tensor, logits: Tensor, *probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        draft = Draft.chain(tokens, *probs)
        if tree:
            draft = Draft(tokens, TREE, branches=Branches.of(TREE))
        verdict = verifier.judge(draft, TargetView.of(logits), SAMPLING, generator)
        return verdict.accepted, verdict.path, verdict.next_token

    columns = [made.tokens, made.logits, *([] if made.probs is None else [made.probs])]
    accepted, path, following = torch.vmap(judge, randomness="different")(*columns)
    emitted = torch.cat([made.tokens.gather(1, path), following[:, None]], 1)
    return emitted.scatter(1, accepted[:, None], following[:, None]), accepted + 1


def first_two(
    rule: Rule, pair: Pair, count: int, generator: torch.Generator
) -> tuple[Tensor, float]:
    """Return the counts of each pair of first tokens [V * V], and the mean tokens of a round."""
    verifier, tree = build_verifier(rule.verify, SAMPLING), rule.drafts == "tree"
    made = propose(rule.drafts, pair, torch.zeros(count, dtype=torch.long), 0, generator)
    emitted, lengths = emit(verifier, made, tree, generator)
    first, short = emitted[:, 0], lengths < LENGTH
    second = torch.nn.functional.pad(emitted, (0, 1))[:, 1].clone()
    if short.any():
        made = propose(rule.drafts, pair, first[short], 1, generator)
        second[short] = emit(verifier, made, tree, generator)[0][:, 0]
    return torch.bincount(first * V + second, minlength=V * V), float(lengths.double().mean())


def distance(probs: Floats, counts: Floats) -> Floats:
    """Return the total variation between `probs` [C] and the frequencies of `counts` [..., C]."""
    return np.abs(counts / counts.sum(-1, keepdims=True) - probs).sum(-1) / 2


def measure(rule: Rule, pair: Pair, draws: int, seed: int) -> dict[str, Any]:
    """Return the distance of one rule in one context, its interval, and the floor."""
    generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    parts = [first_two(rule, pair, CHUNK, generator) for _ in range(max(draws // CHUNK, 1))]
    counts = torch.stack([part[0] for part in parts]).sum(0).double().numpy()
    probs, size = pair.probs().numpy(), int(counts.sum())
    probs = probs / probs.sum()
    tv = float(distance(probs, counts))
    floor = distance(probs, rng.multinomial(size, probs, RESAMPLES).astype(float))
    again = distance(probs, rng.multinomial(size, counts / size, RESAMPLES).astype(float))
    low, high = (max(2 * tv - float(end), 0.0) for end in np.quantile(again, [0.975, 0.025]))
    return {
        "tv": tv,
        "interval": [low, high],
        "floor": [float(floor.mean()), float(np.quantile(floor, 0.999))],
        "tokens_per_round": float(np.mean([part[1] for part in parts])),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400_000)
    options = parser.parse_args()
    pairs, found, passed = [Pair.of(context) for context in CONTEXTS], {}, True
    for rule in tqdm(RULES, unit="rule", disable=None):
        contexts = [measure(rule, pair, options.draws, seed) for seed, pair in enumerate(pairs)]
        at_floor = all(one["tv"] <= one["floor"][1] for one in contexts)
        found[rule.name] = {"lossless": rule.lossless, "at_floor": at_floor, "contexts": contexts}
        passed &= at_floor or not rule.lossless
    settings = {
        "target": TARGET,
        "draft_lacks_layers": list(range(*LEFT_OUT)),
        "temperature": SAMPLING.temperature,
        "words": V,
        "tokens": LENGTH,
        "k": K,
        "window": WINDOW,
    }
    line = {
        "benchmark": "distribution",
        **machine(torch.device("cpu")),
        **vars(options),
        **settings,
        "lossless_at_floor": passed,
        "rules": found,
    }
    print(json.dumps(line))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
