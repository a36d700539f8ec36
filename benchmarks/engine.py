"""The graph engine against the limit of the memory; prints one JSON line.

    python benchmarks/engine.py [--check] [--target llama-8b] [--draft llama-1b] [--k 15]

Random weights in the shapes of Llama 3, bf16, batch 1. `--check` first compares the engine's ids
with the eager engine's on this device: token for token on tiny fp32 models, up to the first
divergence and its margin in bf16. Times are medians of single replays, bracketed by device events.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
import time
from typing import Any

import torch
from measuring import machine, milliseconds

from flybench.bandwidth import read_bandwidth
from flybench.config import DraftConfig, MethodConfig, VerifyConfig
from flybench.core import Draft, Generation
from flybench.decode import StopRule
from flybench.engine.eager import EagerModel, EagerTarget
from flybench.engine.footprint import footprint
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph.target import GraphTarget
from flybench.engine.random_models import random_model
from flybench.engine.shapes import random_weights, shape_config
from flybench.methods import AR, build_decoder
from flybench.sampling import Sampling
from flybench.verify.fly import FlyVerifier

GREEDY = Sampling()
CONTEXT = 256
SLOTS = 2048
PROMPT = list(range(40, 72)) * 2
EXACT, FLY, STRICT = VerifyConfig("exact"), VerifyConfig("fly"), VerifyConfig("fly", theta=math.inf)
METHODS = [
    AR,
    MethodConfig("spd", 5, DraftConfig("model"), EXACT),
    MethodConfig("lookup", 6, DraftConfig("lookup"), EXACT),
    MethodConfig("fly", 15, DraftConfig("model"), FLY),
    MethodConfig("nested", 15, DraftConfig("nested"), STRICT),
]
FAMILIES = ("llama", "qwen3", "gemma3")


def divergence(ours: Generation, theirs: Generation) -> dict[str, Any]:
    """Where two answers part, and the gap between the target's two favourites there."""
    pairs = zip(ours.ids, theirs.ids, strict=True)
    place = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    return {"first": place, "margin": None if place is None else theirs.margins[place]}


def check_family(arch: str, device: torch.device, new_tokens: int) -> dict[str, bool]:
    """Ids and fates of every method, graph against eager, on tiny fp32 models."""
    originals = [random_model(name).to(device) for name in (arch, f"{arch}:1")]  # type: ignore[arg-type]
    vocab = originals[0].config.vocab_size
    target, draft = (GraphModel(copy.deepcopy(m), vocab, 512) for m in originals)
    found = {}
    for temperature in (0.0, 0.8):
        sampling = Sampling(temperature)
        for method in METHODS:
            stop = StopRule(frozenset(), new_tokens)
            eager = build_decoder(
                method,
                EagerTarget(EagerModel(originals[0], vocab)),
                EagerModel(originals[1], vocab),
                sampling,
            ).decode(PROMPT, stop)
            graph = build_decoder(method, GraphTarget(target), draft, sampling).decode(PROMPT, stop)
            same = eager.ids == graph.ids and [r.fates for r in eager.rounds] == [
                r.fates for r in graph.rounds
            ]
            found[f"{method.name}@{temperature:g}"] = same
    return found


def check_half(device: torch.device, new_tokens: int) -> dict[str, Any]:
    """In bf16: graph AR against eager AR, and SPD against AR within the graph engine."""
    config = shape_config("llama-1b")
    config.num_hidden_layers = 4
    model = random_weights(config, torch.bfloat16, device)
    stop = StopRule(frozenset(), new_tokens)
    target = EagerTarget(EagerModel(model, config.vocab_size))
    eager = build_decoder(AR, target, None, GREEDY).decode(PROMPT, stop)
    draft = GraphModel(copy.deepcopy(model), config.vocab_size, 512)
    graph = GraphTarget(GraphModel(model, config.vocab_size, 512))
    plain = build_decoder(AR, graph, None, GREEDY).decode(PROMPT, stop)
    spd = build_decoder(METHODS[1], graph, draft, GREEDY).decode(PROMPT, stop)
    return {"eager_graph": divergence(plain, eager), "spd_equals_ar": spd.ids == plain.ids}


class Bench:
    """One model on the graph engine, filled to `CONTEXT` tokens."""

    def __init__(self, shape: str, device: torch.device) -> None:
        config = shape_config(shape)
        model = random_weights(config, torch.bfloat16, device)
        self.bytes = footprint(model).weight_bytes or 0
        self.vocab = config.vocab_size
        started = time.perf_counter()
        self.model = GraphModel(model, self.vocab, SLOTS)
        self.model.prefill(PROMPT * (CONTEXT // len(PROMPT)))
        self.model.pass_of(1)
        torch.cuda.synchronize()
        self.first_s = time.perf_counter() - started

    def step_ms(self, width: int) -> float:
        program = self.model.pass_of(width)
        self.model.load([5] * width, width)
        return milliseconds(program)


def measure(options: argparse.Namespace, device: torch.device) -> dict[str, Any]:
    bandwidth = read_bandwidth(device) or math.nan
    k, started = options.k, time.perf_counter()
    target, draft = Bench(options.target, device), Bench(options.draft, device)
    spd = MethodConfig("spd", k, DraftConfig("model"), EXACT)
    graph = GraphTarget(target.model)
    decoders = {
        method.name: build_decoder(method, graph, draft.model, GREEDY) for method in (AR, spd)
    }
    torch.cuda.synchronize()
    start_s = time.perf_counter() - started
    one, wide, small = target.step_ms(1), target.step_ms(k + 1), draft.step_ms(1)
    draft.model.rollback(CONTEXT - 1)
    drafting = draft.model.drafting(k, GREEDY)

    def draft_once() -> None:
        draft.model.rollback(CONTEXT - 1)
        drafting([5], None)

    drafted = milliseconds(draft_once)
    judge = graph.prepare(FlyVerifier("official", 0.3, 6), k, GREEDY)
    chain = Draft.chain(torch.zeros(k, dtype=torch.long, device=device))
    view = graph.score(5, chain)
    verdict = milliseconds(lambda: judge.judge(chain, view, GREEDY, None), 100)
    prompt, stop = PROMPT * (CONTEXT // len(PROMPT)), StopRule(frozenset(), options.new_tokens)
    runs = {}
    for name, decoder in decoders.items():
        decoder.decode(prompt, StopRule(frozenset(), 8))
        runs[name] = decoder.decode(prompt, stop)
    ar = runs["ar"]
    rounds = runs["spd"].rounds[1:]
    spent = [(r.draft_s + r.verify_s, r.other_s) for r in rounds]
    inner, outer = (sum(column) for column in zip(*spent, strict=True))
    per_token = ar.decode_s / len(ar.ids)
    return {
        "target": options.target,
        "draft": options.draft,
        "k": k,
        "read_bandwidth_tbs": bandwidth / 1e12,
        "engine_start_s": start_s,
        "target_first_step_s": target.first_s,
        "target_step_ms": one,
        "target_step_share": target.bytes / (one / 1000) / bandwidth,
        "verify_ratio": wide / one,
        "draft_step_ms": small,
        "draft_step_share": draft.bytes / (small / 1000) / bandwidth,
        "draft_ms": drafted,
        "draft_over_steps": drafted / (k * small),
        "fly_verdict_ms": verdict,
        "ar_tokens_per_second": 1 / per_token,
        "ar_bandwidth_share": target.bytes / per_token / bandwidth,
        "round_over_parts": (inner + outer) / inner,
        "peak_memory_gb": torch.cuda.max_memory_allocated() / 1e9,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--target", default="llama-8b")
    parser.add_argument("--draft", default="llama-1b")
    parser.add_argument("--k", type=int, default=15)
    parser.add_argument("--new-tokens", type=int, default=128)
    options = parser.parse_args()
    device = torch.device("cuda")
    line: dict[str, Any] = {
        "benchmark": "engine",
        **machine(device),
    }
    passed = True
    if options.check:
        checks = {arch: check_family(arch, device, 80) for arch in FAMILIES}
        half = check_half(device, 128)
        passed = all(all(found.values()) for found in checks.values()) and half["spd_equals_ar"]
        line |= {"checks": checks, "bf16": half}
    line |= measure(options, device)
    print(json.dumps(line))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
