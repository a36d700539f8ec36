"""Checks the decode loop on this machine's device and prints one JSON line.

    python benchmarks/device_check.py [--new-tokens 200]

Per architecture (tiny random weights, fp32): every lossless method must emit AR's own ids, and no
round may wait for the device but once, in `Verdict.fetch` (checked on CUDA, where PyTorch can
refuse hidden synchronisations). Then AR of this engine against transformers' own `generate` on a
model of 16 layers, in one process, as a ratio. Exit code 1 if a check fails.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

from flybench.config import DraftConfig, MethodConfig, VerifyConfig
from flybench.core import Decision, Draft, TargetView, Verdict
from flybench.decode import StopRule
from flybench.engine.eager import EagerModel, EagerTarget
from flybench.engine.placement import resolve_device
from flybench.engine.random_models import random_model
from flybench.measure import device_name
from flybench.methods import AR, build_decoder
from flybench.sampling import Sampling

EXACT = VerifyConfig("exact")
METHODS = [
    MethodConfig("spd", 5, DraftConfig("model"), EXACT),
    MethodConfig("lookup", 6, DraftConfig("lookup"), EXACT),
    MethodConfig("fly_strict", 15, DraftConfig("model"), VerifyConfig("fly", theta=math.inf)),
    MethodConfig("nested_strict", 15, DraftConfig("nested"), VerifyConfig("fly", theta=math.inf)),
    MethodConfig("fly", 15, DraftConfig("model"), VerifyConfig("fly")),
]
LOSSY = {"fly"}
PROMPT = list(range(40, 72)) * 2


@contextmanager
def one_wait_a_round(device: torch.device) -> Iterator[None]:
    """Refuse every synchronisation on CUDA outside `Verdict.fetch`."""
    if device.type != "cuda":
        yield
        return
    fetch = Verdict.fetch

    def allowed(self: Verdict, draft: Draft, view: TargetView) -> Decision:
        torch.cuda.set_sync_debug_mode("default")
        try:
            return fetch(self, draft, view)
        finally:
            torch.cuda.set_sync_debug_mode("error")

    Verdict.fetch = allowed  # type: ignore[method-assign]
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")
        Verdict.fetch = fetch  # type: ignore[method-assign]


def check(arch: str, device: torch.device, new_tokens: int) -> dict[str, Any]:
    """Ids, waits and phase times of every method on one architecture."""
    target, draft = (random_model(name).to(device) for name in (arch, f"{arch}:1"))  # type: ignore[arg-type]
    vocab = target.config.vocab_size
    results: dict[str, Any] = {}
    expected: list[int] = []
    for temperature in (0.0, 1.0):
        sampling = Sampling(temperature)
        for method in [AR, *METHODS]:
            decoder = build_decoder(
                method,
                EagerTarget(EagerModel(target, vocab)),
                EagerModel(draft, vocab),
                sampling,
            )
            stop = StopRule(frozenset(), new_tokens)
            try:
                # The lookup inside a draft model reads every pass of that model.
                waits = decoder.drafter.__class__.__name__ == "NestedDrafter"
                with one_wait_a_round(device) if not waits else one_wait_a_round(CPU):
                    generation = decoder.decode(PROMPT, stop)
            except RuntimeError as error:
                results[f"{method.name}@{temperature:g}"] = f"failed: {error}"[:300]
                continue
            if method is AR and sampling.greedy:
                expected = generation.ids
            lossless = temperature or method.name in LOSSY or generation.ids == expected
            phases = all(min(r.draft_s, r.verify_s, r.other_s) >= 0 for r in generation.rounds)
            results[f"{method.name}@{temperature:g}"] = bool(lossless and phases)
    return results


CPU = torch.device("cpu")


def seconds(work: Callable[[], Any], device: torch.device, repeats: int = 3) -> float:
    """Best of a few runs, after one that is not counted."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def against_generate(device: torch.device, new_tokens: int) -> dict[str, float]:
    """Tokens per second of this engine's AR and of transformers' `generate`, same model."""
    config = AutoConfig.for_model(
        "llama",
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=16,
        num_attention_heads=16,
        num_key_value_heads=8,
        vocab_size=32000,
    )
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    model = AutoModelForCausalLM.from_config(config, dtype=dtype).to(device).eval()
    ids = torch.tensor([PROMPT], device=device)
    decoder = build_decoder(AR, EagerTarget(EagerModel(model, config.vocab_size)), None, Sampling())
    stop = StopRule(frozenset(), new_tokens)
    ours = seconds(lambda: decoder.decode(PROMPT, stop), device)
    theirs = seconds(
        lambda: model.generate(
            ids, max_new_tokens=new_tokens, min_new_tokens=new_tokens, do_sample=False
        ),
        device,
    )
    return {
        "ar_tokens_per_second": new_tokens / ours,
        "generate_tokens_per_second": new_tokens / theirs,
        "ratio": theirs / ours,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--new-tokens", type=int, default=200)
    options = parser.parse_args()
    device = resolve_device("auto")
    checks = {a: check(a, device, options.new_tokens) for a in ("llama", "qwen3", "gemma3")}
    line = {
        "benchmark": "device_check",
        "device": device_name(device),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "checks": checks,
        **against_generate(device, options.new_tokens),
    }
    print(json.dumps(line))
    passed = all(result is True for group in checks.values() for result in group.values())
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
