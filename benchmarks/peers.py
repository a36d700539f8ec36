"""Compare flybench with transformers' `generate` in one process; print one JSON line.

    python benchmarks/peers.py --target llama-8b [--draft llama-1b] [--new-tokens 128]
    python benchmarks/peers.py --target T.gguf --draft D.gguf --prompts prompts.jsonl --k 15

Models are shapes of `flybench/engine/loading/shapes.py` with random weights, or paths, in their own
dtype (a GGUF file is loaded as bf16 on a GPU). Transformers' ways are `generate` (dynamic cache;
`--compiled` adds a static cache with compiled decoding), assisted generation (the same draft model,
k constant tokens, no stop on low confidence) and prompt lookup. flybench's ways are AR, SPD and
lookup. Every way answers the same prompts greedily. Ratios of seconds per token are paired over the
prompts, with 95 % bootstrap intervals. `benchmarks/prompts.py` writes the prompts of a task.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from measuring import machine, model_of
from tqdm import tqdm
from transformers import PreTrainedModel

from flybench.config import DraftConfig, EngineConfig, MethodConfig
from flybench.decode import AR, StopRule, build_decoder
from flybench.engine.cost.footprint import footprint
from flybench.engine.loading.load import on_engine
from flybench.engine.loading.placement import resolve_device
from flybench.measure.clock import Clock
from flybench.measure.roofline import read_bandwidth
from flybench.metrics.stats import bootstrap
from flybench.sampling import Sampling

Answer = Callable[[list[int]], list[int]]
Measured = list[tuple[int, float]]
"""Tokens and seconds of each prompt."""
AGAINST = (
    ("ar", "generate"),
    ("ar", "generate_static"),
    ("lookup", "generate_lookup"),
    ("spd", "generate_assisted"),
    ("spd", "ar"),
    ("lookup", "ar"),
)
WAYS = sorted({way for pair in AGAINST for way in pair})


def prompts_of(options: argparse.Namespace) -> tuple[list[list[int]], list[int]]:
    """Return prompts as ids, and the ids that end an answer."""
    if options.prompts is None:
        generator = torch.Generator().manual_seed(0)
        length = (options.samples, options.prompt_tokens)
        return torch.randint(10, 30000, length, generator=generator).tolist(), []
    lines = [json.loads(line) for line in options.prompts.read_text().splitlines()]
    return [line["ids"] for line in lines[: options.samples]], lines[0]["eos"]


def theirs(model: PreTrainedModel, eos: Sequence[int], new_tokens: int, **how: Any) -> Answer:
    """Return `generate` with the options `how`."""

    def answer(ids: list[int]) -> list[int]:
        prompt = torch.tensor([ids], device=model.device)
        # An id outside the vocabulary keeps a model with random weights from stopping.
        ends = list(eos) or [model.config.vocab_size + 1]
        output = model.generate(  # type: ignore[operator]
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=False,
            max_new_tokens=new_tokens,
            eos_token_id=ends,
            pad_token_id=ends[0],
            **how,
        )
        return output[0, len(ids) :].tolist()

    return answer


def ours(
    methods: dict[str, MethodConfig],
    target: PreTrainedModel,
    draft: PreTrainedModel | None,
    eos: Sequence[int],
    new_tokens: int,
    longest: int,
    engine: EngineConfig,
) -> dict[str, Answer]:
    """Return the methods on `engine`."""
    models = [target, *([] if draft is None else [draft])]
    vocab = min(model.config.vocab_size for model in models)
    slots = longest + new_tokens + max(method.k for method in methods.values()) + 1
    on_target, on_draft = on_engine(models, vocab, engine, slots)
    stop = StopRule(frozenset(eos), new_tokens)

    def way(method: MethodConfig) -> Answer:
        decoder = build_decoder(method, on_target, on_draft, Sampling())
        return lambda ids: decoder.decode(ids, stop).ids

    return {name: way(method) for name, method in methods.items()}


def time_ways(
    ways: dict[str, Answer], prompts: list[list[int]], device: torch.device
) -> dict[str, Measured]:
    """Time every way on each prompt in turn, after one warm-up answer."""
    clock = Clock(device)
    for answer in ways.values():
        answer(prompts[0])
    measured: dict[str, Measured] = {name: [] for name in ways}
    for ids in tqdm(prompts, desc=", ".join(ways), disable=None):
        for name, answer in ways.items():
            start = clock.now()
            tokens = len(answer(ids))
            measured[name].append((tokens, clock.now() - start))
    return measured


def compare(way: Measured, peer: Measured) -> dict[str, Any]:
    """Return the speed-up of `way` over `peer`, in tokens per second and to an answer."""
    columns = [[pair[i] for pair in each] for each in (way, peer) for i in (0, 1)]
    n, t, n_peer, t_peer = (sum(column) for column in columns)
    rate = bootstrap(lambda n, t, m, s: (n / t) / (m / s), *columns)
    answer = bootstrap(lambda t, s: s / t, columns[1], columns[3])
    return {
        "tokens_per_second": (n / t) / (n_peer / t_peer),
        "tokens_per_second_ci": rate,
        "time_to_answer": t_peer / t,
        "time_to_answer_ci": answer,
    }


def measure(options: argparse.Namespace, device: torch.device) -> dict[str, Any]:
    """Measure every way on the same prompts."""
    bandwidth = read_bandwidth(device)
    target = model_of(options.target, device)
    draft = None if options.draft is None else model_of(options.draft, device)
    reads = footprint(target).weight_bytes
    prompts, eos = prompts_of(options)
    limits = (eos, options.new_tokens)
    k = options.k
    peers = {"generate": theirs(target, *limits)}
    peers["generate_lookup"] = theirs(target, *limits, prompt_lookup_num_tokens=k)
    if options.compiled:
        peers["generate_static"] = theirs(target, *limits, cache_implementation="static")
    methods = {"ar": AR, "lookup": MethodConfig("lookup", k, DraftConfig.of("lookup"))}
    if draft is not None:
        methods["spd"] = MethodConfig("spd", k, DraftConfig.of("model"))
        settings = draft.generation_config
        settings.num_assistant_tokens = k
        settings.num_assistant_tokens_schedule = "constant"
        settings.assistant_confidence_threshold = 0.0
        peers["generate_assisted"] = theirs(target, *limits, assistant_model=draft)
    chosen = {"ar", *(options.ways or WAYS)}
    peers = {name: way for name, way in peers.items() if name in chosen}
    methods = {name: method for name, method in methods.items() if name in chosen}
    found = {}
    # flybench's engines modify the models in place.
    if device.type == "cuda":
        found, peers = time_ways(peers, prompts, device), {}
    else:
        target, draft = copy.deepcopy((target, draft))
    engine = EngineConfig(
        "graph" if device.type == "cuda" else "eager", row_invariant=options.row_invariance
    )
    own = ours(methods, target, draft, *limits, max(map(len, prompts)), engine)
    found |= time_ways(peers | own, prompts, device)
    rates = {name: sum(n for n, _ in way) / sum(t for _, t in way) for name, way in found.items()}
    share = None if bandwidth is None or reads is None else reads * rates["ar"] / bandwidth
    return {
        "dtype": str(target.dtype).removeprefix("torch."),
        "read_bandwidth": bandwidth,
        "tokens_per_second": rates,
        "tokens": {name: sum(n for n, _ in way) for name, way in found.items()},
        "ar_bandwidth_share": share,
        "ratios": {
            f"{a}/{b}": compare(found[a], found[b]) for a, b in AGAINST if {a, b} <= set(found)
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", required=True)
    parser.add_argument("--draft")
    parser.add_argument("--prompts", type=Path)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--prompt-tokens", type=int, default=128)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--k", type=int, default=15)
    parser.add_argument(
        "--ways", nargs="+", choices=WAYS, help="the ways to time, in addition to AR"
    )
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--row-invariance", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    device = resolve_device(options.device)
    setting = {
        "target": Path(options.target).name,
        "draft": options.draft and Path(options.draft).name,
        "samples": options.samples,
        "k": options.k,
        "new_tokens": options.new_tokens,
        "row_invariance": options.row_invariance,
    }
    line = {"benchmark": "peers", **machine(device), **setting, **measure(options, device)}
    print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
