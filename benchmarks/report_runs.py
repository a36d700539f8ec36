"""Synthetic runs of the size of a paper's, for `benchmarks/report.py`.

Every sample has AR's answer, which is the same in all runs, as in a sweep. The method's answer
diverges from it at a random token and is random from there on, the worst case for compression.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from flybench.records.folder import RunFolder
from flybench.records.token_texts import PIECES

VOCABULARY, K, PARTED = 5000, 15, 0.6
METHODS = (
    *("fly", "fly_paper", "fly_vllm", "fly_gate_only", "fly_window_only"),
    *("spd", "lookup", "eagle3", "eagle3_chain", "fly_no_lookup"),
)
WORDS = [
    f"{' ' * (i % 4 > 0)}{'bcdfgklmnprst'[i % 13]}{'aeiou'[i % 5]}{i:x}" for i in range(VOCABULARY)
]
WEIGHTS = [1 / (rank + 3) for rank in range(VOCABULARY)]


def write_runs(out: Path, runs: int, samples: int, tokens: int) -> list[Path]:
    """Write `runs` folders of `samples` samples, with answers of about `tokens` tokens each."""
    plain = [_plain(number, tokens) for number in range(samples)]
    ar = [_line(number, "ar", *parts) for number, parts in enumerate(plain)]
    paths = []
    for run in range(runs):
        method = METHODS[run % len(METHODS)]
        folder = RunFolder(out / f"run-{run:02}")
        folder.write("config.yaml", "model: made up\n")
        folder.write_json("provenance.json", _provenance(method))
        folder.write(PIECES, json.dumps(dict(enumerate(WORDS))))
        own = [_drafted(run, number, plain[number][0], method) for number in range(samples)]
        lines = (line for pair in zip(ar, own, strict=True) for line in pair)
        folder.write("records.jsonl", "".join(lines))
        scores = (_score(run, number, name) for number in range(samples) for name in ("ar", method))
        folder.write("scores.jsonl", "".join(scores))
        paths.append(folder.path)
    return paths


def _provenance(method: str) -> dict[str, object]:
    return {
        "model": "made up",
        "task": "sums",
        "method": method,
        "retention_margin": 0.01,
        "device": "CPU",
        "engine": "eager",
        "judged": "scored",
        "method_config": {"verify": {"rule": "official", "theta": 0.3, "window": 6}},
        "invocations": [],
        "warnings": [],
        "models": {},
    }


def _plain(number: int, tokens: int) -> tuple[list[int], list[dict[str, object]], list[object]]:
    rng = random.Random(number)
    length = rng.randint(tokens // 2, 3 * tokens // 2)
    ids = rng.choices(range(VOCABULARY), WEIGHTS, k=length)
    return ids, [_round(rng, 0, 0, 0, 1, "") for _ in ids], []


def _drafted(run: int, number: int, plain: list[int], method: str) -> str:
    rng = random.Random(f"{run} {number}")
    parts = rng.randrange(len(plain)) if rng.random() < PARTED else len(plain)
    rest = rng.choices(range(VOCABULARY), WEIGHTS, k=len(plain) - parts)
    ids, done = plain[:parts] + rest, 0
    rounds: list[dict[str, object]] = []
    loose_tokens: list[object] = []
    while done < len(ids):
        kept = min(int(rng.expovariate(0.2)), K, len(ids) - done - 1)
        loose = method.startswith("fly") and kept > 2 and rng.random() < 0.2
        outcomes = ("l" if loose else "e") + "e" * (kept - 1) if kept else ""
        if loose:
            loose_tokens.append(_loose_tokens(rng, done, ids[done]))
        end = "" if kept == K else rng.choice("gwt")
        rounds.append(_round(rng, K, kept, int(loose), kept + 1, (outcomes + end).ljust(K, ".")))
        done += kept + 1
    return _line(number, method, ids, rounds, loose_tokens)


def _round(
    rng: random.Random, drafted: int, kept: int, loose: int, emitted: int, outcomes: str
) -> dict[str, object]:
    times = [round(rng.uniform(low, 2 * low), 6) for low in (0.004, 0.01, 0.0002)]
    names = ("drafted", "accepted", "loose", "emitted", "fates", "draft_s", "verify_s", "other_s")
    return dict(zip(names, (drafted, kept, loose, emitted, outcomes, *times), strict=True))


def _loose_tokens(rng: random.Random, place: int, token: int) -> dict[str, object]:
    most = round(rng.uniform(0.3, 0.8), 6)
    statistics = {"preferred": 7, "probability": round(most / 3, 6), "max_probability": most}
    statistics |= {"rank": 2, "entropy": round(rng.uniform(0.5, 2), 6)}
    texts = {"text": WORDS[token], "preferred_text": WORDS[7]}
    return {"place": place, "opinion": statistics, **texts, "start": 5 * place}


def _line(
    number: int,
    method: str,
    ids: list[int],
    rounds: list[dict[str, object]],
    loose_tokens: list[object],
) -> str:
    rng = random.Random(f"{number} {method}")
    turn = {
        "prompt_tokens": 100,
        "ids": ids,
        "text": "".join(WORDS[token] for token in ids),
        "finish": "eos",
        "margins": [round(min(rng.expovariate(0.2), 16) * 16) / 16 for _ in ids],
        "rounds": rounds,
        "prefill_s": 0.02,
        "first_token_s": 0.04,
        "total_s": 0.02 + sum(float(str(r["verify_s"])) for r in rounds),
        "loosened": loose_tokens,
    }
    record = {
        "sample_id": f"sums/{number:04}",
        "method": method,
        "category": f"category {number % 8}",
        "position": int(method != "ar"),
        "prompt_sha256": "0" * 64,
        "turns": [turn],
        "peak_memory_bytes": 2**30,
        "error": None,
        "telemetry": None,
    }
    return json.dumps(record) + "\n"


def _score(run: int, number: int, method: str) -> str:
    right = float(random.Random(f"{number} {run * (method != 'ar')}").random() < 0.7)
    score = {"sample_id": f"sums/{number:04}", "method": method, "correct": right}
    return json.dumps(score | {"metrics": {"strict": right}, "extracted": "18"}) + "\n"
