"""A run of three samples whose every figure can be checked with pencil and paper.

s1 has two turns, of which the second hits the cap; s2 is never judged; s3 fails under FLy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flybench.core.samples import (
    Finish,
    Generation,
    GpuState,
    Record,
    Round,
    Score,
    Telemetry,
)
from flybench.records.folder import RunFolder

PROVENANCE: dict[str, Any] = {
    "model": "tiny", "task": "sums", "retention_margin": 0.01, "device": "a CPU", "engine": "eager",
}  # fmt: skip


def plain_round() -> Round:
    return Round(0, 0, 0, 1, "", 0.0, 0.25, 0.125)


def fly_round(accepted: int, loose: int, emitted: int, draft_s: float) -> Round:
    outcomes = ("l" * loose + "e" * (accepted - loose) + "g").ljust(3, ".")[:3]
    return Round(3, accepted, loose, emitted, outcomes, draft_s, 0.125, 0.0625)


def turn(
    ids: list[int],
    rounds: list[Round],
    prefill_s: float,
    first_token_s: float,
    total_s: float,
    *,
    prompt_tokens: int = 10,
    finish: Finish = "eos",
    margins: list[float] | None = None,
) -> Generation:
    gaps = margins or [1.0] * len(ids)
    return Generation(
        prompt_tokens, ids, "text", finish, gaps, rounds, prefill_s, first_token_s, total_s
    )


def plain(ids: list[int], *times: float, **settings: Any) -> Generation:
    return turn(ids, [plain_round()] * len(ids), *times, **settings)


def ar_records() -> list[Record]:
    s1 = [
        plain([1, 2, 3], 0.5, 0.625, 2.0, margins=[1.0, 0.1, 2.0]),
        plain([4, 5], 0.5, 0.75, 1.5, prompt_tokens=20, finish="length", margins=[3.0, 4.0]),
    ]
    s2 = [plain([7, 8, 9, 10], 0.25, 0.5, 2.25, margins=[0.5, 0.5, 0.05, 0.5])]
    s3 = [plain([6], 0.5, 0.75, 1.0)]
    return [
        Record("s1", "ar", "even", 0, "1", s1, 100),
        Record("s2", "ar", "odd", 1, "2", s2, 300),
        Record("s3", "ar", "even", 0, "3", s3, 200),
    ]


def fly_records() -> list[Record]:
    s1 = [
        turn([1, 2, 3, 11], [fly_round(2, 1, 3, 0.25), fly_round(0, 0, 1, 0.5)], 0.5, 0.55, 1.0),
        turn(
            [4, 5], [fly_round(2, 0, 2, 0.125)], 0.5, 0.6, 0.75, prompt_tokens=20, finish="length"
        ),
    ]
    s2 = [turn([7, 8, 12], [fly_round(2, 0, 3, 0.125)], 0.25, 0.3, 0.75)]
    return [
        Record("s1", "fly", "even", 1, "1", s1, 400),
        Record("s2", "fly", "odd", 0, "2", s2, 300),
        Record("s3", "fly", "even", 1, "3", error="out of memory"),
    ]


def telemetry() -> dict[str, Telemetry]:
    """Two cards under s1, of which the second was throttled, and one under s2."""
    hot = GpuState(1, 1410, 2619, 300.0, 88, ["sw_power_cap", "sw_thermal_slowdown"], 20.0)
    return {
        "s1": Telemetry([GpuState(0, 1980, 2619, 600.0, 60, [], 30.0), hot]),
        "s2": Telemetry([GpuState(0, 1905, 2619, 580.5, 61, [], 40.0)]),
    }


def scores() -> list[Score]:
    return [
        Score("s1", "ar", 1.0, {"strict": 1.0, "flexible": 1.0}, "18"),
        Score("s2", "ar", None, {}),
        Score("s3", "ar", 0.0, {"strict": 0.0, "flexible": 1.0}, "3"),
        Score("s1", "fly", 0.0, {"strict": 0.0, "flexible": 1.0}, "19"),
        Score("s2", "fly", None, {}),
    ]


def write(path: Path, records: list[Record], scores: list[Score]) -> RunFolder:
    folder = RunFolder(path)
    folder.write_json("provenance.json", PROVENANCE)
    for record in records:
        folder.append(record)
    folder.write_scores(scores)
    return folder
