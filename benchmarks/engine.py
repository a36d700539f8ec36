"""Measure the graph engine against the memory bandwidth; print one JSON line.

    python benchmarks/engine.py [--check] [--target llama-8b] [--draft llama-1b] [--k 15]
    torchrun --nproc-per-node=2 benchmarks/engine.py --tp 2 --target llama-70b --draft none

Random weights in public shapes, bf16, batch 1. `--check` first compares the engine's ids with the
eager engine's on this device: token for token on tiny fp32 models, up to the first divergence and
its margin in bf16. Times are medians of single replays between device events. With `--tp` the ranks
share the target, and shares of the bandwidth are per GPU. `--no-row-invariance` measures the
target's step without the guarantee that it has the same bits as in a verification.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from typing import Any

import torch
from agreement import GREEDY, PROMPT, agreement
from measuring import machine, milliseconds, model_of

from flybench.config import DraftConfig, MethodConfig
from flybench.core.drafts import Draft
from flybench.core.samples import Generation
from flybench.decode import AR, StopRule, build_decoder
from flybench.distributed import join, rank
from flybench.engine.cost.footprint import footprint
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph.target import GraphTarget
from flybench.engine.loading.placement import resolve_device
from flybench.measure.roofline import read_bandwidth
from flybench.verify.fly import FlyVerifier

CONTEXT = 256
SLOTS = 2048
TEXT = PROMPT * (CONTEXT // len(PROMPT))


class Bench:
    """One model on the graph engine, filled to `CONTEXT` tokens."""

    def __init__(
        self, shape: str, device: torch.device, ranks: int = 1, row_invariant: bool = False
    ) -> None:
        started = time.perf_counter()
        model = model_of(shape, device, ranks)
        self.load_s = time.perf_counter() - started
        self.bytes = footprint(model).weight_bytes or 0
        self.model = GraphModel(model, model.config.vocab_size, SLOTS, ranks, row_invariant)
        self.model.prefill(TEXT)

    def step_ms(self, width: int) -> float:
        program = self.model.pass_of(width)
        self.model.load([5] * width, width)
        return milliseconds(program, self.model.device)

    def share(self, ms: float, bandwidth: float) -> float:
        """Return the share of the read bandwidth if all weights are read in `ms`."""
        return self.bytes / (ms / 1000) / bandwidth


def draft_figures(draft: Bench, k: int, bandwidth: float) -> dict[str, float]:
    """Return the times of a step of the draft model and of a whole draft."""
    step = draft.step_ms(1)
    drafting = draft.model.drafting(k, GREEDY)

    def once() -> None:
        draft.model.rollback(CONTEXT - 1)
        drafting([5], None)

    drafted = milliseconds(once, draft.model.device)
    return {
        "draft_step_ms": step,
        "draft_step_share": draft.share(step, bandwidth),
        "draft_ms": drafted,
        "draft_over_steps": drafted / (k * step),
    }


def verdict_ms(target: GraphTarget, k: int, device: torch.device) -> float:
    """Return the time of FLy's verdict, window and gate, on an existing view."""
    own, judge = target.prepare(FlyVerifier(), k, GREEDY)
    own.prefill(TEXT)
    chain = Draft.chain(torch.zeros(k, dtype=torch.long, device=device))
    view = own.score(5, chain)
    return milliseconds(lambda: judge.judge(chain, view, GREEDY, None), device, 100)


def round_over_parts(spd: Generation) -> float:
    """Return the time of a round ÷ the device time of its draft and verification."""
    rounds = spd.rounds[1:]
    inner = sum(r.draft_s + r.verify_s for r in rounds)
    return 1 + sum(r.other_s for r in rounds) / inner


def measure(options: argparse.Namespace, device: torch.device) -> dict[str, Any]:
    bandwidth = read_bandwidth(device) or math.nan
    k = options.k
    target = Bench(options.target, device, options.tp, options.row_invariance)
    draft = None if options.draft == "none" else Bench(options.draft, device)
    graph = GraphTarget(target.model)
    methods = [AR] if draft is None else [AR, MethodConfig("spd", k, DraftConfig.of("model"))]
    started = time.perf_counter()
    small = None if draft is None else draft.model
    decoders = {m.name: build_decoder(m, graph, small, GREEDY) for m in methods}
    torch.cuda.synchronize()
    start_s = time.perf_counter() - started
    stop, runs = StopRule(frozenset(), options.new_tokens), {}
    for name, decoder in decoders.items():
        decoder.decode(TEXT, StopRule(frozenset(), 8))
        runs[name] = decoder.decode(TEXT, stop)
    per_token = runs["ar"].decode_s / len(runs["ar"].ids)
    target.model.prefill(TEXT)
    one, wide = target.step_ms(1), target.step_ms(k + 1)
    return {
        "read_bandwidth_tbs": bandwidth / 1e12,
        "load_s": target.load_s,
        "engine_start_s": start_s,
        "target_step_ms": one,
        "target_step_share": target.share(one, bandwidth),
        "verify_ratio": wide / one,
        "fly_verdict_ms": verdict_ms(graph, k, device),
        "ar_tokens_per_second": 1 / per_token,
        "ar_bandwidth_share": target.share(per_token * 1000, bandwidth),
        **({} if draft is None else draft_figures(draft, k, bandwidth)),
        **({} if draft is None else {"round_over_parts": round_over_parts(runs["spd"])}),
        "peak_memory_gb": torch.cuda.max_memory_allocated() / 1e9,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--target", default="llama-8b")
    parser.add_argument("--draft", default="llama-1b", help="none for only the target")
    parser.add_argument("--k", type=int, default=15)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--row-invariance", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--tp", type=int, default=1, help="ranks, as many as torchrun starts")
    options = parser.parse_args()
    device = resolve_device("auto")
    if device.type != "cuda":
        parser.error("this benchmark needs a CUDA GPU, and this machine has none")
    join(device)
    line: dict[str, Any] = {"benchmark": "engine", **machine(device), **vars(options)}
    passed = True
    if options.check:
        found, passed = agreement(device)
        line |= found
    line |= measure(options, device)
    if not rank():
        print(json.dumps(line))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
