"""Points of a model: what is timed, what is refused, and the floors beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from flybench.analysis.latency import sweep as module
from flybench.analysis.latency.sweep import BASE, Memory, PassShape, PassTimer, Rates, floors
from flybench.analysis.latency.timing import Effort
from tests.helpers.measurements import FakeClock, pair

EFFORT = Effort(warmup=0, least=1, most=1, seconds=1, rounds=1)
RATES = Rates(read=1e6, multiply=1e9)
POINTS = [
    BASE,
    PassShape("width", width=5),
    PassShape("context", context=300),
    PassShape("batch", batch=3),
]


def swept(kind: str, points: list[PassShape]) -> list[dict[str, Any]]:
    made = pair(kind)
    ticks: list[int] = []
    sweep = PassTimer(made.models["draft"], made, RATES, FakeClock(2), EFFORT)
    rows = sweep.rows(points, lambda: ticks.append(1))
    assert len(ticks) == len(points)
    return rows


@pytest.mark.parametrize("kind", ["eager", "graph"])
def test_every_point_is_timed_in_order(kind: str) -> None:
    rows = swept(kind, POINTS)
    assert [(row["width"], row["context"], row["batch"]) for row in rows] == [
        (1, 256, 1), (5, 256, 1), (1, 300, 1), (1, 256, 3),
    ]  # fmt: skip
    assert {(row["model"], row["median_s"], row["note"]) for row in rows} == {("draft", 2.0, None)}


def test_a_context_beyond_the_model_is_marked() -> None:
    short, fits, long = swept(
        "eager", [BASE, PassShape("context", 1, 2047), PassShape("context", 1, 2048)]
    )
    assert short["note"] is fits["note"] is None
    assert long["note"] == "longer than the model's 2048 tokens"
    assert long["median_s"] is None
    assert long["bytes_floor_s"] > short["bytes_floor_s"]


def test_a_cache_beyond_the_memory_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy keeps 1 KiB a token; the eager engine holds it twice while it grows."""
    monkeypatch.setattr(module, "free_bytes", lambda device: 600 << 10)
    small, large = swept("eager", [BASE, PassShape("context", 1, 300)])
    assert (small["note"], large["note"]) == (None, "does not fit in memory")
    assert swept("graph", [PassShape("context", 1, 300)])[0]["note"] is None


def test_running_out_of_memory_costs_one_point(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = module.open_bench

    def scarce(kind: str, model: Any, vocab: int, context: int, batch: int, *more: Any) -> Any:
        if batch == 3:
            raise torch.OutOfMemoryError("out of memory")
        return whole(kind, model, vocab, context, batch, *more)

    monkeypatch.setattr(module, "open_bench", scarce)
    notes = [row["note"] for row in swept("eager", [*POINTS, PassShape("batch", batch=4)])]
    assert notes == [None, None, None, "does not fit in memory", None]


def test_the_higher_floor_binds() -> None:
    costed = pair().models["target"]
    one, many = (floors(costed, PassShape("width", width), RATES) for width in (1, 10_000))
    work = costed.model_work.of_pass(1, 256, 1)
    assert one["bytes_floor_s"] == (work.bytes or 0) / 1e6
    assert one["operations_floor_s"] == (work.operations or 0) / 1e9
    assert (one["binds"], many["binds"]) == ("bytes", "operations")


def test_an_unknown_rate_leaves_its_floor_open() -> None:
    costed = pair().models["target"]
    found = floors(costed, BASE, Rates(read=1e6, multiply=None))
    assert found["bytes_floor_s"] is not None
    assert found["operations_floor_s"] is found["binds"] is None
    unknown = replace(costed, model_work=replace(costed.model_work, weight_bytes=None))
    assert floors(unknown, BASE, RATES)["bytes_floor_s"] is None


def test_a_cpu_does_not_count_its_memory() -> None:
    assert Memory(pair().models["target"]).peak() is None
