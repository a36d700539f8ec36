"""Made-up measurements with round numbers, and pairs of toys to measure."""

from __future__ import annotations

import copy
from typing import Any

from flybench.analysis.latency.pair import ROLES, TimedModel, TimedPair
from flybench.analysis.latency.sweep import BASE, PassShape
from flybench.config import EngineConfig
from flybench.engine.cost.work import ModelWork
from flybench.measure.clock import Clock, Mark
from tests.helpers import toys


class FakeClock(Clock):
    """Every timed call takes the next of `seconds`, over and over."""

    def __init__(self, *seconds: float) -> None:
        super().__init__(toys.eager("llama").device)
        self._seconds = seconds
        self._marks = 0

    def mark(self) -> Mark:
        self._marks += 1
        return float(self._marks)

    def seconds(self, start: Mark, end: Mark) -> float:
        return self._seconds[(self._marks // 2 - 1) % len(self._seconds)]


def pair(kind: str = "eager", roles: tuple[str, ...] = ROLES) -> TimedPair:
    """Two toys, named tiny."""
    models = {}
    for seed, role in enumerate(roles):
        model = copy.deepcopy(toys.model(f"llama:{seed}"))
        facts = {"path": f"random:llama:{seed}", "skip_layers": None, "shape": None, "ranks": 1}
        facts |= {"dtype": "float32", "device": "cpu", "resident_bytes": 1000}
        facts |= {"parameters": 10, "weight_bytes": 40, "kv_bytes_per_token": 8}
        models[role] = TimedModel(role, facts, model, 2048, ModelWork.of(model))
    return TimedPair("tiny", "own", EngineConfig(kind), kind, None, models, toys.VOCAB)


def spread(seconds: float) -> dict[str, Any]:
    return {"median_s": seconds, "p10_s": seconds / 2, "p90_s": 2 * seconds, "repeats": 3}


def row(
    model: str, point: PassShape, seconds: float | None, note: str | None = None
) -> dict[str, Any]:
    measured = spread(seconds) if seconds else dict.fromkeys(spread(1))
    floors = {"bytes_floor_s": 0.5, "operations_floor_s": 0.25, "binds": "bytes"}
    return {
        **{"model": model, "note": note, "memory_bytes": None},
        **vars(point), **measured, **floors,
    }  # fmt: skip


def result(**changes: Any) -> dict[str, Any]:
    """A step of the target takes 1 s and 0.1 s more for each further token; a draft's, 0.2 s."""
    points = [
        BASE,
        *(PassShape("width", width) for width in (2, 4, 16)),
        PassShape("context", 1, 8191),
    ]
    rows = [row("target", point, 1 + (point.width - 1) / 10) for point in points[:-1]]
    rows += [row("target", points[-1], None, "does not fit in memory"), row("draft", BASE, 0.2)]
    facts = {
        **{"skip_layers": None, "shape": None, "ranks": 1, "dtype": "float32", "device": "cpu"},
        **{"parameters": 2e6, "weight_bytes": 8e6, "kv_bytes_per_token": 64},
        **{"resident_bytes": 8e6, "read": 16e6, "multiply": None},
    }
    models = {
        "target": facts | {"path": "tiny-target"},
        "draft": facts | {"path": "tiny-draft", "skip_layers": [1, 3]},
    }
    return {
        "model": "tiny",
        "device": "a CPU",
        "device_type": "cpu",
        "engine": "eager",
        "engine_kind": "eager",
        "dtype": None,
        "weights": "own",
        "models": models,
        "method": {"name": "fly", "k": 4},
        "base": vars(BASE),
        "effort": "medians of a few",
        "points": rows,
        "draft": spread(1.0),
        "verdicts": {"fly": spread(0.02), "exact": spread(0.01)},
        "rounds": {
            "ar": {"draft": spread(0.01), "verify": spread(1.0), "other": spread(0.03)},
            "fly": {"draft": spread(1.0), "verify": spread(1.5), "other": spread(0.05)},
        },
        "peak_memory_bytes": 32e6,
    } | changes
