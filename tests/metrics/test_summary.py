"""Every figure of a summary against the same figure worked out by hand."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from flybench.core.samples import Record
from flybench.metrics import summary
from flybench.metrics import suppression as few
from flybench.metrics.divergence import first_divergence, first_divergences
from flybench.metrics.frames import sample_frame
from flybench.metrics.glossary import GLOSSARY
from flybench.metrics.stats import accuracy_interval, bootstrap, retention_interval
from flybench.records.folder import RunFolder
from tests.helpers import hand_built


@pytest.fixture(autouse=True)
def small_counts_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures by hand are of tiny counts on purpose."""
    monkeypatch.setattr(few, "MIN_COUNT", 0)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    records = hand_built.ar_records() + hand_built.fly_records()
    return hand_built.write(tmp_path, records, hand_built.scores())


@pytest.fixture
def whole(tmp_path: Path) -> RunFolder:
    """The same run without the failed record, so AR keeps its three samples."""
    records = hand_built.ar_records() + hand_built.fly_records()[:2]
    return hand_built.write(tmp_path / "whole", records, hand_built.scores())


def summarise(folder: RunFolder) -> list[dict[str, Any]]:
    return [row.plain() for row in summary.summarise(folder)]


def write_summary(folder: RunFolder) -> list[dict[str, Any]]:
    return [row.plain() for row in summary.write_summary(folder)]


def check(row: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        assert row[name] == (pytest.approx(value) if isinstance(value, float) else value), name


def test_plain_decoding_by_hand(whole: RunFolder) -> None:
    ar, _ = summarise(whole)
    check(ar, {
        "model": "tiny", "task": "sums", "method": "ar", "device": "a CPU", "engine": "eager",
        "n": 3, "n_error": 0, "n_scored": 2, "n_right": 1.0, "accuracy": 0.5,
        "truncation_rate": 1 / 3,
        "accuracy_ci": list(accuracy_interval([1.0, 0.0]) or ()),
        "metrics": {"strict": 0.5, "flexible": 1.0},
        # 10 tokens in 2.5 + 2.0 + 0.5 s
        "tokens_per_second": 2.0, "ar_tokens_per_second": 2.0,
        "ttft_s": 0.625, "prefill_s": 1.75 / 3, "time_to_answer_s": 6.75 / 3,
        "peak_memory_bytes": 300,
        "tau_pooled": 1.0, "tau_mean": 1.0, "accept_rate": None, "loose_per_1000": 0.0,
        "ms_per_round": {"draft": 0.0, "verify": 250.0, "other": 125.0},
    })  # fmt: skip


def test_plain_decoding_is_compared_with_nothing(folder: RunFolder) -> None:
    ar, _ = summarise(folder)
    names = (
        "n_paired", "speedup_throughput", "speedup_throughput_ci", "speedup_latency",
        "speedup_latency_ci", "length_ratio", "retention", "retention_ci", "retention_verdict",
        "pairs", "mcnemar_p", "exact_match_rate", "first_divergence_median", "tie_flips",
    )  # fmt: skip
    assert [ar[name] for name in names] == [None] * len(names)


def test_the_method_by_hand(folder: RunFolder) -> None:
    _, fly = summarise(folder)
    check(fly, {
        "model": "tiny", "task": "sums", "method": "fly", "device": "a CPU", "engine": "eager",
        "n": 2, "n_error": 1, "n_scored": 1, "n_right": 0.0, "n_paired": 2, "accuracy": 0.0,
        "truncation_rate": 0.5, "metrics": {"strict": 0.0, "flexible": 1.0},
        # 9 tokens in 0.75 + 0.5 s; AR's 9 of the same two samples in 2.5 + 2.0 s
        "tokens_per_second": 7.2, "ar_tokens_per_second": 2.0, "speedup_throughput": 3.6,
        # 3.5 + 2.25 s of AR, 1.75 + 0.75 s
        "speedup_latency": 2.3, "length_ratio": 1.0,
        "ttft_s": 0.425, "prefill_s": 0.625, "time_to_answer_s": 1.25, "peak_memory_bytes": 400,
        # 9 tokens in 4 rounds; 6 in 3, and 3 in 1; 6 of 12 drafted accepted; 1 loose of 9
        "tau_pooled": 2.25, "tau_mean": 2.5, "accept_rate": 0.5, "loose_per_1000": 1000 / 9,
        "ms_per_round": {"draft": 250.0, "verify": 125.0, "other": 62.5},
        # s1: only AR was right
        "retention": 0.0, "retention_verdict": "not resolved", "pairs": [0, 1, 0, 0],
        "mcnemar_p": 1.0,
        # s1 parts at token 3 (AR's gap there 3.0), s2 at token 2 (0.05, a tie)
        "exact_match_rate": 0.0, "first_divergence_median": 2.5, "tie_flips": 1,
    })  # fmt: skip


def test_intervals_are_those_of_the_paired_samples(folder: RunFolder) -> None:
    _, fly = summarise(folder)
    assert fly["accuracy_ci"] == list(accuracy_interval([0.0]) or ())
    assert fly["retention_ci"] == list(retention_interval([1.0], [0.0]) or ())
    throughput = bootstrap(
        lambda n_ar, t_ar, n, t: (n / t) / (n_ar / t_ar), [5, 4], [2.5, 2.0], [6, 3], [0.75, 0.5]
    )
    latency = bootstrap(lambda ar, own: ar / own, [3.5, 2.25], [1.75, 0.75])
    assert fly["speedup_throughput_ci"] == pytest.approx(list(throughput or ()))
    assert fly["speedup_latency_ci"] == pytest.approx(list(latency or ()))


def test_every_figure_is_in_the_glossary(folder: RunFolder) -> None:
    for row in summarise(folder):
        assert set(row) <= set(GLOSSARY)


def test_every_method_has_the_same_figures(folder: RunFolder) -> None:
    ar, fly = summarise(folder)
    assert set(ar) == set(fly)


def test_files_hold_what_is_returned(folder: RunFolder) -> None:
    rows = write_summary(folder)
    assert json.loads((folder.path / "summary.json").read_text()) == rows == summarise(folder)


def test_json_has_none_instead_of_nan(tmp_path: Path) -> None:
    """A sample without a round would give 0 / 0."""
    empty = hand_built.plain([], 0.5, 0.5, 0.5)
    records = [Record("s1", method, "x", 0, "", [empty]) for method in ("ar", "fly")]
    folder = hand_built.write(tmp_path, records, [])
    write_summary(folder)
    text = (folder.path / "summary.json").read_text()
    rows = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in {text}"))
    assert rows[1]["tau_pooled"] is None
    assert rows[1]["tau_mean"] is None
    assert rows[1]["speedup_throughput"] is None


def test_csv_has_a_column_for_each_end_of_an_interval(folder: RunFolder) -> None:
    rows = write_summary(folder)
    with (folder.path / "summary.csv").open() as stream:
        ar, fly = csv.DictReader(stream)
    scalars = {
        name for name in rows[1]
        if not name.endswith("_ci")
        and name not in ("pairs", "loose_flips", "pairwise", "metrics", "ms_per_round", "too_few")
    }  # fmt: skip
    ends = {f"{name}_{end}" for name in rows[1] if name.endswith("_ci") for end in ("low", "high")}
    parts = {
        "pairs_both", "pairs_lost", "pairs_won", "pairs_neither",
        "loose_flips_lost", "loose_flips_won",
        "pairwise_wins", "pairwise_ties", "pairwise_losses",
        "metrics_strict", "metrics_flexible",
        "ms_per_round_draft", "ms_per_round_verify", "ms_per_round_other",
    }  # fmt: skip
    assert set(fly) == set(ar) == scalars | ends | parts
    assert float(fly["speedup_throughput"]) == pytest.approx(3.6)
    assert float(fly["speedup_latency_ci_low"]) == pytest.approx(rows[1]["speedup_latency_ci"][0])
    assert (fly["pairs_lost"], fly["pairs_won"]) in {("1", "0"), ("1.0", "0.0")}
    assert ar["speedup_throughput"] == ar["accept_rate"] == ar["pairs_lost"] == ""


def test_a_folder_with_plain_decoding_alone(tmp_path: Path) -> None:
    folder = hand_built.write(tmp_path, hand_built.ar_records(), hand_built.scores()[:3])
    (row,) = write_summary(folder)
    check(row, {"method": "ar", "n": 3, "accuracy": 0.5, "tokens_per_second": 2.0})
    assert row["speedup_throughput"] is None


def test_a_folder_without_plain_decoding_compares_nothing(tmp_path: Path) -> None:
    folder = hand_built.write(tmp_path, hand_built.fly_records(), hand_built.scores()[3:])
    (row,) = write_summary(folder)
    check(row, {"method": "fly", "n": 2, "n_paired": 0, "tokens_per_second": 7.2})
    names = (
        "ar_tokens_per_second", "speedup_throughput", "speedup_throughput_ci", "speedup_latency",
        "speedup_latency_ci", "length_ratio", "retention", "retention_ci", "retention_verdict",
        "pairs", "mcnemar_p", "exact_match_rate", "first_divergence_median",
    )  # fmt: skip
    assert [row[name] for name in names] == [None] * len(names)


def test_a_token_that_only_a_loose_rule_kept_is_no_tie(folder: RunFolder) -> None:
    ar, fly = (sample_frame(folder, method) for method in ("ar", "fly"))
    assert first_divergences(ar, fly)["tie"].sum() == 1
    loose = fly.assign(loose_indices=[[0, 2]] * len(fly))
    assert first_divergences(ar, loose)["tie"].sum() == 0


def test_tie_flips_of_no_pairs_are_unknown(tmp_path: Path) -> None:
    folder = hand_built.write(tmp_path, hand_built.fly_records(), hand_built.scores()[3:])
    (row,) = summarise(folder)
    assert row["tie_flips"] is None


def test_an_unmeasured_peak_is_unknown(tmp_path: Path) -> None:
    records = [Record("s1", "ar", "x", 0, "", hand_built.ar_records()[0].turns, None)]
    (row,) = summarise(hand_built.write(tmp_path, records, []))
    assert row["peak_memory_bytes"] is None


def test_a_run_where_everything_failed(tmp_path: Path) -> None:
    records = [Record("s1", method, "x", 0, "", error="boom") for method in ("ar", "fly")]
    folder = hand_built.write(tmp_path, records, [])
    for row in write_summary(folder):
        check(row, {"n": 0, "n_error": 1, "n_scored": 0, "accuracy": None, "tau_pooled": None})
        assert row["tokens_per_second"] is None
        assert row["peak_memory_bytes"] is None


def test_an_unjudged_task_has_no_accuracy(tmp_path: Path) -> None:
    records = hand_built.ar_records() + hand_built.fly_records()
    for row in summarise(hand_built.write(tmp_path, records, [])):
        check(row, {"n_scored": 0, "accuracy": None, "accuracy_ci": None, "metrics": {}})


def test_only_samples_judged_under_both_methods_enter_retention(tmp_path: Path) -> None:
    """s1 is judged under AR alone here, s2 never was, s3 failed under FLy: no pair is left."""
    scores = [*hand_built.scores()[:3], *hand_built.scores()[4:]]
    records = hand_built.ar_records() + hand_built.fly_records()
    _, fly = summarise(hand_built.write(tmp_path, records, scores))
    check(fly, {"retention": None, "n_paired": 2, "mcnemar_p": None})


@pytest.mark.parametrize(
    ("ours", "theirs", "place"),
    [
        ([1, 2], [1, 2], None), ([], [], None), ([1, 2], [1, 3], 1), ([1], [2], 0),
        ([1, 2], [1, 2, 3], 2), ([1, 2, 3], [1, 2], 2), ([], [1], 0),
    ],
)  # fmt: skip
def test_first_divergence(ours: list[int], theirs: list[int], place: int | None) -> None:
    assert first_divergence(ours, theirs) == place


def test_an_answer_that_only_goes_on_is_no_tie(tmp_path: Path) -> None:
    """Where AR has ended, it has no gap, so that nothing says that the difference was a tie."""
    turns = {"ar": hand_built.plain([1], 0.1, 0.2, 0.3, margins=[0.01]),
             "fly": hand_built.plain([1, 2], 0.1, 0.2, 0.4)}  # fmt: skip
    records = [Record("s1", method, "x", 0, "", [turns[method]]) for method in turns]
    _, fly = summarise(hand_built.write(tmp_path, records, []))
    check(fly, {"first_divergence_median": 1.0, "tie_flips": 0, "exact_match_rate": 0.0})


def test_equal_answers_match(tmp_path: Path) -> None:
    records = [
        Record(r.sample_id, method, r.category, 0, "", r.turns)
        for r in hand_built.ar_records() for method in ("ar", "copy")
    ]  # fmt: skip
    _, copy = summarise(hand_built.write(tmp_path, records, []))
    check(copy, {"exact_match_rate": 1.0, "first_divergence_median": None, "tie_flips": 0})
    assert math.isclose(copy["speedup_throughput"], 1.0)
