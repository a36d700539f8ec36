"""Drafts, verdicts and rounds of a pair, on both engines."""

from __future__ import annotations

from typing import Any

import pytest

from flybench.analysis.latency.decoding import decoding_costs, random_prompt
from flybench.analysis.latency.measure import measure
from flybench.analysis.latency.sweep import CONTEXT, points
from flybench.analysis.latency.timing import Effort
from flybench.config import DraftConfig, MethodConfig, VerifyConfig
from flybench.decode import AR
from flybench.sampling import Sampling
from tests.helpers.measurements import FakeClock, pair

EFFORT = Effort(warmup=0, least=1, most=1, seconds=1, rounds=3)
FLY = MethodConfig("fly", 7, DraftConfig.of("nested"), VerifyConfig.of("fly"))
LOOKUP = MethodConfig("lookup", 6, DraftConfig.of("lookup"))


def costs(kind: str, method: MethodConfig, sampling: Sampling, **made: Any) -> dict[str, Any]:
    return decoding_costs(pair(kind, **made), method, sampling, FakeClock(3), EFFORT)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.8)], ids=["greedy", "sampled"])
@pytest.mark.parametrize("kind", ["eager", "graph"])
def test_a_method_with_a_draft_model(kind: str, sampling: Sampling) -> None:
    found = costs(kind, FLY, sampling)
    assert found["draft"]["median_s"] == 3
    assert {name: verdict["median_s"] for name, verdict in found["verdicts"].items()} == {
        "fly": 3, "exact": 3,
    }  # fmt: skip
    assert list(found["rounds"]) == ["ar", "fly"]
    assert found["rounds"]["fly"]["verify"]["repeats"] >= 3
    assert found["rounds"]["ar"]["other"]["median_s"] > 0


def test_a_method_without_a_draft_model() -> None:
    found = costs("eager", LOOKUP, Sampling(), roles=("target",))
    assert found["draft"] is None
    assert set(found["verdicts"]) == {"fly", "exact"}
    assert list(found["rounds"]) == ["ar", "lookup"]


def test_plain_decoding_has_neither_drafts_nor_verdicts() -> None:
    found = costs("eager", AR, Sampling(), roles=("target",))
    assert (found["draft"], found["verdicts"], list(found["rounds"])) == (None, None, ["ar"])


def test_the_prompt_is_the_same_every_time() -> None:
    prompt = random_prompt(261)
    assert prompt == random_prompt(261)
    assert len(prompt) == CONTEXT
    assert 0 <= min(prompt) <= max(prompt) < 261


def test_a_measurement_holds_every_point_of_every_model() -> None:
    found = measure(pair(), FLY, Sampling(), FakeClock(1))
    assert len(found["points"]) == 2 * len(points(7))
    assert list(found["models"]) == ["target", "draft"]
    assert found["models"]["target"]["read"] == found["models"]["draft"]["read"] > 0
    assert found["peak_memory_bytes"] > 0
