"""Run folders made up from a few numbers, so that a report needs neither a model nor a GPU."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flybench.config import BASELINES
from flybench.core.samples import Generation, Record, Round, Score, Telemetry
from flybench.records.folder import RunFolder

K = 8
PROVENANCE: dict[str, Any] = {
    "model": "tiny",
    "task": "sums",
    "method": "fly",
    "retention_margin": 0.01,
    "device": "CPU",
    "engine": "eager",
    "judged": "scored",
    "models": {
        "target": {"path": "tiny-target", "dtype": "fp32", "device": "cpu", "eos_ids": [2]},
        "draft": None,
    },
    "sampling": {"name": "greedy", "temperature": 0.0},
    "method_config": {"name": "fly", "k": K, "verify": {"kind": "fly", "theta": 0.3}},
    "task_config": {"name": "sums", "max_new_tokens": 96},
    "warnings": [],
    "invocations": [
        {
            "time": "2025-11-22T10:00:00+00:00",
            "argv": ["/opt/bin/flybench", "run", "model=tiny", "method=fly", "task=sums"],
            "git": {"commit": "0123abc", "dirty": False},
            "environment": {
                "python": "3.12",
                "cpu": "a CPU",
                "memory_bytes": 2**33,
                "packages": {"torch": "2.11"},
            },
        }
    ],
}


def write_run(
    path: Path,
    n: int = 3,
    *,
    method: str = "fly",
    baseline: bool = True,
    repeat: bool = False,
    scored: bool = True,
    speed: float = 2.0,
    padding: int = 1,
    right: float = 0.8,
    lose: Iterable[int] = (),
    ids: Iterable[str] | None = None,
    failing: str | None = None,
    telemetry: Telemetry | None = None,
    **provenance: Any,
) -> RunFolder:
    """A run of `n` samples, `method` being `speed` times as fast as AR by construction.

    AR solves the first `right` of them; the samples numbered in `lose` flip under the method. With
    `repeat` AR answers a second time, alike. `padding` makes the method's answers so much longer.
    `failing` is the error of every record, `telemetry` what the cards said after each.
    """
    folder = RunFolder(path)
    folder.write("config.yaml", f"model: tiny\nmethod: {method}\n")
    folder.write_json("provenance.json", PROVENANCE | {"method": method} | provenance)
    names = list(ids or (f"sums/{i:03}" for i in range(n)))
    lost = set(lose)
    scores = []
    for index, name in enumerate(names):
        category = "even" if index % 2 == 0 else "odd"
        plain = ["ar"] * baseline + ["ar_again"] * repeat
        for arm in dict.fromkeys([*plain, method]):
            turns = [] if failing else [generation(index, arm, speed, padding)]
            told = (turns, 2**30, failing, telemetry)
            folder.append(Record(name, arm, category, int(arm != "ar"), "0" * 64, *told))
            correct = float((index < right * n) ^ (arm == method and index in lost))
            scores.append(Score(name, arm, correct, {"strict": correct, "flexible": 1.0}, "18"))
    if scored and not failing:
        folder.write_scores(scores)
    return folder


def cell(path: Path, name: str, theta: float = 0.3, window: int = 6, **options: Any) -> RunFolder:
    """A run of FLy with these settings in the folder `name`, as `write_run`."""
    verify = {"kind": "fly", "theta": theta, "window": window}
    method = {"name": "fly", "k": 8, "verify": verify}
    return write_run(path / name, method_config=method, **options)


def generation(seed: int, method: str, speed: float, padding: int = 1) -> Generation:
    """An answer of some 40 tokens, or so often as many; a token takes 10 ms over `speed`."""
    rng = random.Random(f"{seed}{method}")
    rounds = [
        _round(rng, method, speed) for _ in range(40 if method in BASELINES else 10 * padding)
    ]
    tokens = sum(round_.emitted for round_ in rounds)
    decode_s = sum(r.draft_s + r.verify_s + r.other_s for r in rounds)
    return Generation(
        prompt_tokens=20,
        ids=list(range(tokens)),
        text=f"The sum is {seed}.",
        finish="eos",
        margins=[1.0] * tokens,
        rounds=rounds,
        prefill_s=0.02,
        first_token_s=0.03,
        total_s=0.02 + decode_s,
    )


def _round(rng: random.Random, method: str, speed: float) -> Round:
    if method in BASELINES:
        return Round(0, 0, 0, 1, "", 0.0, 0.009, 0.001 + rng.random() * 1e-4)
    accepted = min(K, int(rng.expovariate(0.25)))
    loose = int(method == "fly" and accepted > 3 and rng.random() < 0.3)
    end = rng.choice("gwt" if method == "fly" else "r") if accepted < K else ""
    outcomes = "l" * loose + "e" * (accepted - loose) + end
    seconds = (accepted + 1) * 0.01 / speed * (1 + 0.1 * rng.random())
    return Round(
        drafted=K,
        accepted=accepted,
        loose=loose,
        emitted=accepted + 1,
        outcomes=outcomes.ljust(K, "."),
        draft_s=seconds * 0.4,
        verify_s=seconds * 0.55,
        other_s=seconds * 0.05,
    )
