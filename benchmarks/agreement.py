"""Whether the graph engine says what the eager engine says; `engine.py --check` runs it first."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch

from flybench.config import DraftConfig, MethodConfig, VerifyConfig
from flybench.core import Generation
from flybench.decode import StopRule
from flybench.engine.eager import EagerModel, EagerTarget
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph.target import GraphTarget
from flybench.engine.random_models import random_model
from flybench.engine.shapes import random_weights, shape_config
from flybench.methods import AR, build_decoder
from flybench.sampling import Sampling

GREEDY = Sampling()
PROMPT = list(range(40, 72)) * 2
EXACT, FLY, STRICT = VerifyConfig("exact"), VerifyConfig("fly"), VerifyConfig("fly", theta=math.inf)
SPD = MethodConfig("spd", 5, DraftConfig("model"), EXACT)
METHODS = [
    AR,
    SPD,
    MethodConfig("lookup", 6, DraftConfig("lookup"), EXACT),
    MethodConfig("fly", 15, DraftConfig("model"), FLY),
    MethodConfig("nested", 15, DraftConfig("nested"), STRICT),
]
FAMILIES = ("llama", "qwen3", "gemma3")


def agreement(device: torch.device) -> tuple[dict[str, Any], bool]:
    """Every family in fp32 and one in bf16: what was found, and whether it is as it must be."""
    checks = {arch: check_family(arch, device, 80) for arch in FAMILIES}
    half = check_half(device, 128)
    passed = all(all(found.values()) for found in checks.values()) and half["spd_equals_ar"]
    return {"checks": checks, "bf16": half}, passed


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
    spd = build_decoder(SPD, graph, draft, GREEDY).decode(PROMPT, stop)
    return {"eager_graph": divergence(plain, eager), "spd_equals_ar": spd.ids == plain.ids}
