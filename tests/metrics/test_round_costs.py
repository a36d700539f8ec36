"""The parts of a round, the share of the bandwidth and the energy, against figures by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from msgspec import structs

from flybench.metrics.frames import round_frame, sample_frame
from flybench.metrics.round_costs import (
    LIMIT,
    ROUND,
    bandwidth_limit,
    bytes_ratio,
    energy,
    round_costs,
)
from flybench.records.folder import RunFolder
from tests.helpers import hand_built

TARGET = {"weight_bytes": 900, "kv_bytes_per_token": 10}
COSTS = {"read_bandwidth": 4080.0, "target": TARGET, "draft": None}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    records = hand_built.ar_records() + hand_built.fly_records()
    return hand_built.write(tmp_path, records, [])


@pytest.fixture
def whole(tmp_path: Path) -> RunFolder:
    """The same run without the failed record, so AR keeps its three samples."""
    records = hand_built.ar_records() + hand_built.fly_records()[:2]
    return hand_built.write(tmp_path / "whole", records, hand_built.scores())


def provenance(*costs: dict[str, Any] | None, devices: str = "AAAA") -> dict[str, Any]:
    """A run with one invocation for each of `costs`, None for one that decoded nothing."""
    calls = [
        {"environment": {"device": device}} | ({"costs": one} if one else {})
        for one, device in zip(costs, devices, strict=False)
    ]
    return {"invocations": calls}


def costs_of(folder: RunFolder, method: str) -> dict[str, Any]:
    return round_costs(round_frame(folder, "ar"), round_frame(folder, method), method)


def test_a_round_of_the_method_by_hand(folder: RunFolder) -> None:
    """AR's rounds take 0.25 + 0.125 s; the method drafts 12 tokens in 1.0 s over 4 rounds."""
    assert costs_of(folder, "fly") == pytest.approx({
        "step_s": 0.25, "ar_overhead_ratio": 0.5, "gamma": 3.0, "cost_ratio": 1 / 3,
        "verify_ratio": 0.5, "overhead_ratio": 0.25,
        # 9 tokens in 4 rounds of 3 · 1/3 + 0.5 + 0.25 steps, where AR takes 1.5 a token
        "speedup_modelled": 2.25 * 1.5 / 1.75,
    })  # fmt: skip


def test_plain_decoding_is_its_own_step(folder: RunFolder) -> None:
    assert costs_of(folder, "ar") == {
        "step_s": 0.25, "ar_overhead_ratio": 0.5, "gamma": 0.0, "cost_ratio": None,
        "verify_ratio": 1.0, "overhead_ratio": 0.5, "speedup_modelled": None,
    }  # fmt: skip


def test_only_samples_of_both_count(folder: RunFolder) -> None:
    """s3 failed under the method, so a slow step of AR there changes no row."""
    slow = folder.records()["s3", "ar"]
    turns = [
        structs.replace(
            slow.turns[0], rounds=[structs.replace(hand_built.plain_round(), verify_s=99.0)]
        )
    ]
    before = costs_of(folder, "fly")
    folder.append(structs.replace(slow, turns=turns))
    assert costs_of(folder, "fly") == before
    assert costs_of(folder, "ar")["step_s"] < 1


def test_what_plain_decoding_spends_on_no_draft_is_overhead(folder: RunFolder) -> None:
    plain, rounds = round_frame(folder, "ar"), round_frame(folder, "fly")
    plain["draft_s"] = 0.025
    assert round_costs(plain, rounds, "fly")["ar_overhead_ratio"] == pytest.approx(0.6)


def test_the_model_gives_the_measured_speedup_where_rounds_are_all_there_is() -> None:
    plain = pd.DataFrame({
        "sample_id": "a", "draft_s": [0.0] * 8, "verify_s": 0.5, "other_s": 0.1, "drafted": 0,
        "emitted": 1,
    })  # fmt: skip
    rounds = pd.DataFrame({
        "sample_id": "a", "draft_s": [0.1, 0.3], "verify_s": [0.6, 0.7], "other_s": 0.2,
        "drafted": [5, 3], "emitted": [5, 3],
    })  # fmt: skip
    seconds = rounds[["draft_s", "verify_s", "other_s"]].to_numpy().sum()
    measured = (8 / seconds) / (8 / (8 * 0.6))
    assert round_costs(plain, rounds, "x")["speedup_modelled"] == pytest.approx(measured)


def test_a_drafter_that_never_drafts_has_no_cost_a_token(folder: RunFolder) -> None:
    rounds = round_frame(folder, "fly").assign(drafted=0)
    found = round_costs(round_frame(folder, "ar"), rounds, "fly")
    assert found["cost_ratio"] is None
    assert found["speedup_modelled"] == pytest.approx(2.25 * 1.5 / 1.75)


def test_nothing_to_compare_is_unknown(folder: RunFolder) -> None:
    rounds = round_frame(folder, "fly")
    unknown = dict.fromkeys(ROUND)
    assert round_costs(pd.DataFrame(), rounds, "fly") == unknown
    assert round_costs(rounds, pd.DataFrame(), "fly") == unknown
    assert round_costs(rounds.assign(sample_id="other"), rounds, "fly") == unknown


def test_share_of_the_bandwidth_by_hand(whole: RunFolder) -> None:
    """12 cached tokens on average and 2 tokens a second, so (900 + 10 · 12) · 2 of 4080 bytes."""
    found = bandwidth_limit(sample_frame(whole, "ar"), provenance(COSTS))
    assert found == {
        "read_bandwidth": 4080.0, "bytes_per_token": 1020.0, "bandwidth_share": 0.5,
        "regime": "bandwidth-bound",
    }  # fmt: skip


def test_less_than_half_of_the_bandwidth_is_overhead(whole: RunFolder) -> None:
    slower = provenance(COSTS | {"read_bandwidth": 4081.0})
    found = bandwidth_limit(sample_frame(whole, "ar"), slower)
    assert found["regime"] == "overhead-bound"


@pytest.mark.parametrize(
    "change",
    [
        {"read_bandwidth": None},
        {"target": TARGET | {"weight_bytes": None}},
        {"target": TARGET | {"kv_bytes_per_token": None}},
    ],
)
def test_what_is_unknown_leaves_the_regime_open(folder: RunFolder, change: dict[str, Any]) -> None:
    found = bandwidth_limit(sample_frame(folder, "ar"), provenance(COSTS | change))
    assert (found["bandwidth_share"], found["regime"]) == (None, None)


def test_the_best_bandwidth_of_one_machine_counts(whole: RunFolder) -> None:
    calls = provenance(COSTS, COSTS | {"read_bandwidth": 8160.0}, None)
    assert bandwidth_limit(sample_frame(whole, "ar"), calls)["bandwidth_share"] == 0.25


def test_two_machines_have_no_common_limit(folder: RunFolder) -> None:
    samples = sample_frame(folder, "ar")
    mixed = provenance(COSTS, COSTS, devices="AB")
    assert bandwidth_limit(samples, mixed) == dict.fromkeys(LIMIT)
    # An invocation that decoded nothing says nothing.
    assert bandwidth_limit(samples, provenance(COSTS, None, devices="AB"))["regime"] is not None


@pytest.mark.parametrize("older", [{}, {"invocations": []}, provenance(None)])
def test_older_runs_have_no_limit(folder: RunFolder, older: dict[str, Any]) -> None:
    assert bandwidth_limit(sample_frame(folder, "ar"), older) == dict.fromkeys(LIMIT)
    assert bytes_ratio(older) is None


def test_share_of_the_bytes() -> None:
    draft = {"weight_bytes": 90, "kv_bytes_per_token": None}
    assert bytes_ratio(provenance(COSTS | {"draft": draft})) == 0.1
    assert bytes_ratio(provenance(COSTS)) is None
    assert bytes_ratio(provenance(COSTS | {"draft": draft | {"weight_bytes": None}})) is None


def test_energy_of_the_samples_that_have_it(folder: RunFolder) -> None:
    """s1 took 50 J for 5 tokens, s2 40 J for 4; nothing is known of s3."""
    for sample, telemetry in hand_built.telemetry().items():
        folder.append(structs.replace(folder.records()[sample, "ar"], telemetry=telemetry))
    found = energy(sample_frame(folder, "ar"))
    assert found == {"energy_per_token_j": 10.0, "throttled_samples": 1}


def test_energy_without_cards_is_unknown(folder: RunFolder) -> None:
    found = energy(sample_frame(folder, "ar"))
    assert found == {"energy_per_token_j": None, "throttled_samples": None}
