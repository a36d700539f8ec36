"""Time the replay of a grid; print one JSON line.

    python benchmarks/replay.py [RUN] [--samples 200]

Without a run, a synthetic one is made, with answers of 300 tokens and drafts of 15. Drafted tokens
match with a probability of 0.8 where the target's entropy is low, and 0.5 elsewhere. The grid has
six θ, four windows and three K. The time includes reading the traces. On a busy machine, prefer
`cpu_seconds`, the sum over all threads, to `seconds`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from flybench.analysis.replay.cells import grid
from flybench.analysis.replay.grid import recorded_config, replay
from flybench.config import RunConfig
from flybench.config.compose import cells, parse_request
from flybench.core.outcomes import ACCEPTED_OUTCOMES, OUTCOME_CODES, Outcome
from flybench.core.samples import Generation, Record, Round, RowTrace
from flybench.records.folder import RunFolder
from flybench.records.traces import write_traces
from flybench.run.provenance import write_config
from flybench.verify.base import match_outcomes

TOKENS, VOCAB_SIZE = 300, 50_000
GRID = (
    "method.verify.theta=0.05,0.1,0.2,0.3,0.5,0.8",
    "method.verify.window=1,2,3,4",
    "method.k=5,10,15",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", type=Path)
    parser.add_argument("--samples", type=int, default=200)
    options = parser.parse_args()
    torch.set_num_threads(1)  # tensors this small gain nothing from a second one
    with tempfile.TemporaryDirectory() as scratch:
        folder = RunFolder(options.run or Path(scratch))
        if options.run is None:
            make_run(folder, options.samples)
        methods, _ = grid(recorded_config(folder).method, GRID)
        start, worked = time.perf_counter(), time.process_time()
        table = replay([folder], methods)
        seconds, cpu = time.perf_counter() - start, time.process_time() - worked
        traced = sum(file.stat().st_size for file in (folder.path / "traces").iterdir())
        found = {
            "benchmark": "replay",
            "cells": len(methods),
            "tokens": int(table["tokens"].max()),
            "trace_bytes": traced,
            "seconds": round(seconds, 2),
            "cpu_seconds": round(cpu, 2),
            "threads": torch.get_num_threads(),
        }
    print(json.dumps(found))


def make_run(folder: RunFolder, samples: int) -> None:
    """Write a run of synthetic answers with their traces."""
    (config,) = cells(parse_request(["model=random", "method=spd", "method.k=15"]))
    rng = np.random.default_rng(0)
    facts = {"model": "random", "task": "demo", "device": "none", "engine": "none"}
    folder.write_json(
        "provenance.json", {**facts, "retention_margin": 0.01, "vocab_size": VOCAB_SIZE}
    )
    write_config(folder, config)
    for number in range(samples):
        record = make_record(f"made-up-{number}", config, rng)
        write_traces(folder, record)
        folder.append(record)


def make_record(sample_id: str, config: RunConfig, rng: np.random.Generator) -> Record:
    """Return an answer whose rounds end at the first mismatch, as with the exact rule."""
    rounds: list[Round] = []
    traces: list[RowTrace] = []
    kept, k = 0, config.method.k
    while kept < TOKENS:
        entropy = rng.exponential(0.5, k + 1).clip(0, 5)
        match = rng.random(k) < np.where(entropy[:k] < 0.5, 0.8, 0.5)
        outcomes = match_outcomes(torch.from_numpy(match), Outcome.EXACT).tolist()
        accepted = next(
            (i for i, outcome in enumerate(outcomes) if outcome not in ACCEPTED_OUTCOMES), k
        )
        outcomes[accepted + 1 :] = [Outcome.NOT_REACHED] * (k - accepted - 1)
        emitted = min(accepted + 1, TOKENS - kept)
        codes = "".join(OUTCOME_CODES[outcome] for outcome in outcomes)
        rounds.append(Round(k, min(accepted, emitted), 0, emitted, codes, 0.0, 0.0, 0.0))
        choices = rng.integers(0, VOCAB_SIZE, k + 1)
        tokens = [*np.where(match, choices[:k], (choices[:k] + 1) % VOCAB_SIZE), -1]
        for token, choice, nats in zip(tokens, choices, entropy, strict=True):
            top3 = min(float(nats), 1.0)
            traces.append(RowTrace(float(token), float(choice), float(nats), top3, 0.5, 0.9, 0.8))
        kept += emitted
    answer = Generation(10, [0] * TOKENS, "", "length", [], rounds, 0.0, 0.0, 0.0, [], traces)
    return Record(sample_id, config.method.name, "made up", 0, "", [answer])


if __name__ == "__main__":
    main()
