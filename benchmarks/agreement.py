"""Check that the graph engine emits the eager engine's ids, for `engine.py --check`.

On CUDA, a round of either engine may wait for the device only once, in `Verdict.fetch`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from flybench.config import EXACT, DraftConfig, MethodConfig, VerifyConfig
from flybench.core.drafts import Draft, TargetView
from flybench.core.samples import Generation
from flybench.core.verdicts import Decision, Verdict
from flybench.decode import AR, StopRule, build_decoder
from flybench.engine.base import CachedModel, Target
from flybench.engine.eager.model import EagerModel, EagerTarget
from flybench.engine.eagle3.model import HeadModel
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph.support import windowed
from flybench.engine.graph.target import GraphTarget
from flybench.engine.loading.random_models import random_model
from flybench.engine.loading.shapes import random_weights, shape_config
from flybench.sampling import Sampling
from flybench.train.head import new_head
from flybench.train.vocabulary import DraftVocabulary

GREEDY = Sampling()
PROMPT = list(range(40, 72)) * 2
FLY, STRICT = VerifyConfig.of("fly"), VerifyConfig.of("fly", theta=math.inf)
SPD = MethodConfig("spd", 5, DraftConfig.of("model"), EXACT)
METHODS = [
    AR,
    SPD,
    MethodConfig("lookup", 6, DraftConfig.of("lookup"), EXACT),
    MethodConfig("fly", 15, DraftConfig.of("model"), FLY),
    MethodConfig("nested", 15, DraftConfig.of("nested"), STRICT),
]
HEADS = [
    MethodConfig("eagle3_chain", 5, DraftConfig.of("eagle3"), EXACT),
    MethodConfig("eagle3", 30, DraftConfig.of("eagle3", tree_depth=3, tree_top_k=6), EXACT),
]
LOSSY = {"fly"}
# Shapes whose bf16 passes are compared, and their number of layers.
HALVES = {"llama-1b": 16, "qwen2.5-1.5b": 28, "qwen3-0.6b": 28, "llama-8b": 4}
FAMILIES = ("llama", "qwen3", "gemma3")


def agreement(device: torch.device) -> tuple[dict[str, Any], bool]:
    """Check all families in fp32 and some shapes in bf16; return results and whether all pass."""
    checks = {
        arch: check_family(arch, device, 80) | check_head(arch, device, 40) for arch in FAMILIES
    }
    half = {shape: check_half(shape, layers, device, 256) for shape, layers in HALVES.items()}
    same = [found["equals_ar"] for found in half.values()]
    passed = all(all(found.values()) for found in [*checks.values(), *same])
    return {"checks": checks, "bf16": half}, passed


def divergence(ours: Generation, theirs: Generation) -> dict[str, Any]:
    """Return the first index at which two answers differ, and the gap of the target's top two."""
    pairs = zip(ours.ids, theirs.ids, strict=True)
    index = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    return {"first": index, "margin": None if index is None else theirs.margins[index]}


@contextmanager
def one_wait_a_round(device: torch.device, allowed: bool) -> Iterator[None]:
    """Raise on every CUDA synchronisation outside `Verdict.fetch`, unless more are `allowed`."""
    if device.type != "cuda" or allowed:
        yield
        return
    fetch = Verdict.fetch

    def waiting(self: Verdict, draft: Draft, view: TargetView) -> Decision:
        torch.cuda.set_sync_debug_mode("default")
        try:
            return fetch(self, draft, view)
        finally:
            torch.cuda.set_sync_debug_mode("error")

    Verdict.fetch = waiting  # type: ignore[method-assign]
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")
        Verdict.fetch = fetch  # type: ignore[method-assign]


def check_family(arch: str, device: torch.device, new_tokens: int) -> dict[str, bool]:
    """Compare ids and outcomes on both engines, and greedy ids of lossless methods with AR's."""
    originals = [random_model(name).to(device) for name in (arch, f"{arch}:1")]  # type: ignore[arg-type]
    vocab = originals[0].config.vocab_size
    fast = [GraphModel(copy.deepcopy(model), vocab, 512) for model in originals]
    plain = [EagerModel(model, vocab) for model in originals]
    engines: list[tuple[Target, CachedModel]] = [
        (EagerTarget(plain[0]), plain[1]),
        (GraphTarget(fast[0]), fast[1]),
    ]
    found = {}
    for sampling in (GREEDY, Sampling(0.8)):
        answers: dict[str, list[int]] = {}
        for method in METHODS:
            # The lookup inside a draft model reads back each pass of that model.
            reads_back = method.draft.kind == "nested"
            both = []
            for target, draft in engines:
                decoder = build_decoder(method, target, draft, sampling)
                with one_wait_a_round(device, reads_back):
                    both.append(decoder.decode(PROMPT, StopRule(frozenset(), new_tokens)))
            eager, graph = both
            answers[method.name] = graph.ids
            same = [r.outcomes for r in eager.rounds] == [r.outcomes for r in graph.rounds]
            lossless = not sampling.greedy or method.name in LOSSY or graph.ids == answers["ar"]
            passed = same and lossless and eager.ids == graph.ids
            found[f"{method.name}@{sampling.temperature:g}"] = passed
    return found


def check_head(arch: str, device: torch.device, new_tokens: int) -> dict[str, bool]:
    """Compare a random EAGLE-3 head on both engines and with AR.

    Trees are skipped for models with sliding windows.
    """
    original = random_model(arch).to(device)  # type: ignore[arg-type]
    config = original.config
    everything = DraftVocabulary(torch.arange(config.vocab_size), coverage=1.0)
    head = new_head(original, everything).requires_grad_(False)
    vocab, taps = config.vocab_size, head.config.taps
    plain = EagerTarget(EagerModel(original, vocab, taps))
    fast = GraphTarget(GraphModel(copy.deepcopy(original), vocab, 512, taps=taps))
    stop = StopRule(frozenset(), new_tokens)
    expected = build_decoder(AR, plain, None, GREEDY).decode(PROMPT, stop).ids
    found = {}
    for method in HEADS:
        if method.draft.grows_trees and windowed(config):
            continue
        both = []
        for target, captured in ((plain, False), (fast, True)):
            model = HeadModel(head, 512, captured)
            decoder = build_decoder(method, target, model, GREEDY)
            with one_wait_a_round(device, allowed=False):
                both.append(decoder.decode(PROMPT, stop))
        eager, graph = both
        same = [r.outcomes for r in eager.rounds] == [r.outcomes for r in graph.rounds]
        found[method.name] = same and eager.ids == graph.ids == expected
    return found


def check_half(shape: str, layers: int, device: torch.device, new_tokens: int) -> dict[str, Any]:
    """Compare in bf16 graph AR with eager AR, and chains of two lengths with graph AR."""
    config = shape_config(shape)
    config.num_hidden_layers = layers
    model = random_weights(config, torch.bfloat16, device)
    stop = StopRule(frozenset(), new_tokens)
    target = EagerTarget(EagerModel(model, config.vocab_size))
    eager = build_decoder(AR, target, None, GREEDY).decode(PROMPT, stop)
    draft = GraphModel(copy.deepcopy(model), config.vocab_size, 512, row_invariant=False)
    graph = GraphTarget(GraphModel(model, config.vocab_size, 512))
    plain = build_decoder(AR, graph, None, GREEDY).decode(PROMPT, stop)
    chains = {f"spd of {k}": replace(SPD, k=k) for k in (5, 15)}
    decoders = {name: build_decoder(spd, graph, draft, GREEDY) for name, spd in chains.items()}
    found = {name: decoder.decode(PROMPT, stop) for name, decoder in decoders.items()}
    return {
        "eager_graph": divergence(plain, eager),
        "equals_ar": {name: answer.ids == plain.ids for name, answer in found.items()},
        "parts_from_ar": {name: divergence(answer, plain) for name, answer in found.items()},
    }
