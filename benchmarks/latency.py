"""Measure the latency of a step for random weights in public shapes; print one JSON line.

    python benchmarks/latency.py [--target llama-8b] [--draft llama-1b] [--k 15] [--engine auto]
    torchrun --nproc-per-node=2 benchmarks/latency.py --tp 2 --target llama-70b --draft none

This is the measurement of `flybench latency` without its configuration, table and plot. The line is
the content of latency.json, and `flybench latency --acceptance RUN FILE` reads it. Names of shapes
are in `flybench/engine/loading/shapes.py`.
"""

from __future__ import annotations

import argparse
import json
import sys

import torch
import transformers

from flybench.analysis.latency.measure import measure
from flybench.analysis.latency.pair import load_timed
from flybench.config import (
    DraftConfig,
    EngineConfig,
    MethodConfig,
    ModelConfig,
    ModelRef,
    VerifyConfig,
)
from flybench.distributed import rank
from flybench.engine.loading.placement import resolve_device, use_threads
from flybench.measure.clock import Clock
from flybench.sampling import Sampling


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="llama-8b")
    parser.add_argument("--draft", default="llama-1b", help="none for only the target")
    parser.add_argument("--k", type=int, default=15)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--tp", type=int, default=1, help="ranks, as many as torchrun starts")
    options = parser.parse_args()
    target, draft = (ModelRef(name, shape=name) for name in (options.target, options.draft))
    target_only = options.draft == "none"
    config = ModelConfig(
        f"{options.target}+{options.draft}", target, None if target_only else draft
    )
    drafter = DraftConfig.of("lookup" if target_only else "model")
    method = MethodConfig("fly", options.k, drafter, VerifyConfig.of("fly"))
    device, engine = resolve_device("auto"), EngineConfig(options.engine, tp=options.tp)
    use_threads(engine)
    pair = load_timed(config, not target_only, engine, "random", device)
    line = {
        "benchmark": "latency",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        **measure(pair, method, Sampling(), Clock(device)),
    }
    if not rank():
        print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
