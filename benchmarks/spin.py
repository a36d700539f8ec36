"""Measure the effect of a short OpenMP spin on CPU models; print one JSON line.

    python benchmarks/spin.py [--shape qwen2.5-0.5b] [--threads N] [--blocks 8] [--fp32]

flybench sets GOMP_SPINCOUNT=1000, after which OpenMP's idle threads sleep. Each block times steps
of one token in separate processes, with that setting and with OpenMP's default, for one program and
for two at once on the same cores. The line has the medians in milliseconds, and the ratio default ÷
short spin (above 1 if the short spin is faster) with its interval over blocks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

import numpy as np
import torch
from measuring import machine, mean_ratio, milliseconds

from flybench.engine.eager.model import EagerModel
from flybench.engine.loading.shapes import random_weights, shape_config
from flybench.measure.environment import physical_cores

CPU = torch.device("cpu")
CONTEXT = 256
WAYS: list[dict[str, str]] = [{}, {"GOMP_SPINCOUNT": "1000"}]


def step(shape: str, threads: int, fp32: bool) -> float:
    """Return the milliseconds of a step, after all programs of the block are ready."""
    torch.set_num_threads(threads)
    config = shape_config(shape)
    model = random_weights(config, torch.float32 if fp32 else torch.bfloat16, CPU)
    engine = EagerModel(model, config.vocab_size)
    engine.prefill([7] * CONTEXT)

    def once() -> None:
        engine.extend(torch.tensor([5]), rows=1)
        engine.rollback(CONTEXT)

    print("ready", flush=True)
    sys.stdin.readline()
    return milliseconds(once, CPU)


def together(programs: int, spin: dict[str, str], arguments: list[str]) -> float:
    """Return the mean time of a step over `programs` that run at once."""
    command = [sys.executable, __file__, "--step", *arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GOMP_", "OMP_"))}
    running = [
        subprocess.Popen(
            command,
            env=environment | spin,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(programs)
    ]
    for program in running:
        assert program.stdout is not None
        program.stdout.readline()
    answers = []
    for program in running:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    for program in running:
        out, _ = program.communicate()
        answers.append(float(out))
    return sum(answers) / programs


def compared(programs: int, blocks: int, arguments: list[str]) -> dict[str, object]:
    """Compare the two settings, each of which comes first in every other block."""
    times = np.empty((blocks, 2))
    for block in range(blocks):
        for way in (0, 1) if block % 2 else (1, 0):
            times[block, way] = together(programs, WAYS[way], arguments)
    own_over_short, interval = mean_ratio(*times.T)
    return {
        "own_ms": float(np.median(times[:, 0])),
        "short_ms": float(np.median(times[:, 1])),
        "own_over_short": own_over_short,
        "interval": interval,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", default="qwen2.5-0.5b")
    parser.add_argument("--threads", type=int, default=physical_cores())
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--fp32", action="store_true")
    parser.add_argument("--step", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(step(options.shape, options.threads, options.fp32))
        return 0
    arguments = ["--shape", options.shape, "--threads", str(options.threads)]
    arguments += ["--fp32"] if options.fp32 else []
    asked = {name: vars(options)[name] for name in ("shape", "threads", "blocks", "fp32")}
    line = {"benchmark": "spin", **machine(CPU), **asked}
    for name, programs in (("alone", 1), ("two_at_once", 2)):
        line[name] = compared(programs, options.blocks, arguments)
    print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
