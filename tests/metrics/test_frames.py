"""Records as tables: one row a finished sample, one row a round."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from msgspec import structs

from flybench.core.samples import LooseToken, Record, Score, TargetStatistics
from flybench.metrics.frames import (
    SAMPLE_COLUMNS,
    gpu_frame,
    methods_of,
    round_frame,
    sample_frame,
)
from flybench.records.folder import RunFolder
from tests.helpers import hand_built


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    records = hand_built.fly_records() + hand_built.ar_records()
    return hand_built.write(tmp_path, records, hand_built.scores())


@pytest.fixture
def whole(tmp_path: Path) -> RunFolder:
    """The same run without the failed record, so AR keeps its three samples."""
    records = hand_built.ar_records() + hand_built.fly_records()[:2]
    return hand_built.write(tmp_path / "whole", records, hand_built.scores())


def test_turns_of_a_sample_are_added_up(folder: RunFolder) -> None:
    row = sample_frame(folder, "fly").loc["s1"]
    assert row["category"] == "even"
    expected = {
        "prompt_tokens": 30, "tokens": 6, "rounds": 3, "drafted": 9, "accepted": 4, "loose": 1,
        "prefill_s": 1.0, "ttft_s": 0.55, "decode_s": 0.75, "total_s": 1.75, "capped": True,
        "correct": 0.0, "peak_memory_bytes": 400,
        # 9 tokens and then 12 in the first turn, 19 in the second
        "cached": 9 + 12 + 19,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert row["ids"] == [1, 2, 3, 11, 4, 5]
    assert row["margins"] == [1.0] * 6


def test_failed_samples_are_left_out(folder: RunFolder) -> None:
    assert list(sample_frame(folder, "fly").index) == ["s1", "s2"]
    assert list(sample_frame(folder, "ar").index) == ["s1", "s2"]  # the same set for every method


def test_an_unjudged_sample_has_no_number(folder: RunFolder) -> None:
    assert math.isnan(sample_frame(folder, "fly").loc["s2", "correct"])


def test_a_sample_without_a_score_has_no_number(tmp_path: Path) -> None:
    folder = hand_built.write(tmp_path, hand_built.ar_records(), [])
    assert sample_frame(folder, "ar")["correct"].isna().all()


def test_a_sample_that_succeeds_later_counts_once(folder: RunFolder) -> None:
    late = hand_built.fly_records()[0]
    folder.append(type(late)("s3", "fly", "even", 1, "3", late.turns))
    assert list(sample_frame(folder, "fly").index) == ["s1", "s2", "s3"]


def test_an_unknown_method_has_an_empty_table_of_the_same_columns(folder: RunFolder) -> None:
    frame = sample_frame(folder, "spd")
    assert len(frame) == 0
    assert list(frame.columns) == list(SAMPLE_COLUMNS)
    assert len(round_frame(folder, "spd")) == 0


def test_plain_decoding_finds_one_cached_token_more_each_round(whole: RunFolder) -> None:
    cached = sample_frame(whole, "ar")["cached"]
    assert list(cached) == [9 + 10 + 11 + 19 + 20, 9 + 10 + 11 + 12, 9]


def test_energy_and_throttling_come_from_the_cards(whole: RunFolder) -> None:
    for sample, telemetry in hand_built.telemetry().items():
        record = whole.records()[sample, "ar"]
        whole.append(structs.replace(record, telemetry=telemetry))
    frame = sample_frame(whole, "ar")
    assert frame["energy_j"].tolist()[:2] == [50.0, 40.0]
    assert frame["throttled"].tolist()[:2] == [1.0, 0.0]
    assert frame.loc["s3", ["energy_j", "throttled"]].isna().all()


def test_cards_have_a_row_each(folder: RunFolder) -> None:
    record = folder.records()["s1", "ar"]
    folder.append(structs.replace(record, telemetry=hand_built.telemetry()["s1"]))
    frame = gpu_frame(folder, "ar")
    assert list(zip(frame["sample_id"], frame["index"], strict=True)) == [("s1", 0), ("s1", 1)]
    assert list(frame["power_w"]) == [600.0, 300.0]
    assert len(gpu_frame(folder, "fly")) == 0


def loose_tokens(place: int, start: int | None) -> LooseToken:
    return LooseToken(place, TargetStatistics(5, 0.1, 0.5, 2, 1.0), " big", " large", start)


@pytest.mark.parametrize(
    ("extracted", "places"),
    [("19", [0, 1, 2, 4]), ("12", [0, 1, 2, 3, 4]), (None, [0, 1, 2, 3, 4]), ("It", [0, 4])],
)
def test_loose_tokens_before_the_fact(
    tmp_path: Path, extracted: str | None, places: list[int]
) -> None:
    """The fact ends after 8 characters; an earlier turn precedes all, as what has no place does."""
    first, last = (
        structs.replace(turn, text="It is 19 or so.") for turn in hand_built.fly_records()[0].turns
    )
    first = structs.replace(first, loose_tokens=[loose_tokens(0, 40)])
    last = structs.replace(
        last,
        loose_tokens=[
            loose_tokens(1, 3),
            loose_tokens(2, 6),
            loose_tokens(3, 9),
            loose_tokens(4, None),
        ],
    )
    record = Record("s1", "fly", "", 0, "", [first, last])
    score = Score("s1", "fly", 0.0, {}, extracted)
    folder = hand_built.write(tmp_path, [record], [score])
    found = sample_frame(folder, "fly").loc["s1", "before_extracted"]
    assert [each.token.index for each in found] == places


def test_rounds_keep_their_order_and_place(folder: RunFolder) -> None:
    frame = round_frame(folder, "fly")
    places = list(zip(frame["sample_id"], frame["turn"], frame["round"], strict=True))
    assert places == [("s1", 0, 0), ("s1", 0, 1), ("s1", 1, 0), ("s2", 0, 0)]
    assert list(frame["emitted"]) == [3, 1, 2, 3]
    assert list(frame["outcomes"]) == ["leg", "g..", "eeg", "eeg"]
    assert list(frame["draft_s"]) == [0.25, 0.5, 0.125, 0.125]


def test_ar_comes_first_among_the_methods(folder: RunFolder) -> None:
    assert methods_of(folder) == ["ar", "fly"]
    folder.append(type(hand_built.ar_records()[0])("s9", "aa", "", 0, "", error="x"))
    assert methods_of(folder) == ["ar", "aa", "fly"]
