"""The verdict's words follow the intervals, and never claim more than the data give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from flybench.report.findings.verdict import ArmVerdict, verdicts
from flybench.report.run import load
from tests.helpers.synthetic import write_run


def verdict(path: Path, n: int, **options: Any) -> ArmVerdict:
    [run] = load([write_run(path / "run", n, **options)])
    [one] = verdicts(run)
    return one


def words(of: ArmVerdict) -> str:
    return " ".join([*(finding.text for finding in of.findings), *of.notes])


def test_faster_and_unresolved(tmp_path: Path) -> None:
    found = verdict(tmp_path, 40, lose=[1])
    assert [finding.badge for finding in found.findings] == ["faster", "accuracy not resolved"]
    assert "fly is faster than AR: 1.9" in words(found)
    assert "31/40 right against 32/40 for AR" in words(found)
    assert "1 lost and 0 won (McNemar p = 1.000)" in words(found)
    assert "is not resolved at n = 40" in words(found)
    assert "samples would be needed to show this with 80 % power" in words(found)


def test_slower_and_lost(tmp_path: Path) -> None:
    found = verdict(tmp_path, 40, speed=0.5, lose=range(20))
    assert [finding.badge for finding in found.findings] == ["slower", "accuracy lost"]
    assert [finding.kind for finding in found.findings] == ["bad", "bad"]
    assert "fly is slower than AR: 0.4" in words(found)
    assert "below the required 99.0\u00a0%" in words(found)


def test_kept_within_a_wide_margin(tmp_path: Path) -> None:
    found = verdict(tmp_path, 40, retention_margin=0.3)
    assert found.findings[1].badge == "accuracy kept"
    assert "at or above the required 70.0\u00a0%" in words(found)


def test_speed_not_resolved(tmp_path: Path) -> None:
    found = verdict(tmp_path, 40, speed=1.05)
    assert "speed not resolved" in found.findings[0].badge or "mixed" in found.findings[0].badge
    assert "does not resolve the direction at n = 40" in found.findings[0].text


def test_a_method_that_pads_its_answers_is_slower_to_answer(tmp_path: Path) -> None:
    found = verdict(tmp_path, 40, speed=2.0, padding=4)
    speed = found.findings[0]
    assert (speed.badge, speed.kind) == ("slower to answer", "bad")
    assert "fly is faster than AR in throughput: 1.9" in speed.text
    assert "fly is slower than AR in time to answer: 0.4" in speed.text
    assert "do not make answers faster here: the answers are 4." in speed.text


def test_faster_tokens_that_answer_no_sooner_are_no_win(tmp_path: Path) -> None:
    found = verdict(tmp_path, 40, speed=2.15, padding=2)
    assert (found.findings[0].badge, found.findings[0].kind) == (
        "faster per token only",
        "open",
    )


def test_lengths_caps_and_loops_stand_beside_every_speed_up(tmp_path: Path) -> None:
    text = verdict(tmp_path, 40).findings[0].text
    assert "0.0\u00a0% are truncated at the limit (AR: 0.0\u00a0%)" in text
    assert "0.0\u00a0% of their tokens are in loops (AR: 0.0\u00a0%)" in text


def test_loops_are_warned_of(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 40)
    for (sample, method), record in folder.records().items():
        if method == "fly" and sample.endswith("3"):
            turn = structs.replace(record.turns[0], ids=[5, 6] * 20)
            folder.append(structs.replace(record, turns=[turn]))
    [found] = verdicts(load([folder])[0])
    assert "It loops more than AR: " in words(found)


def test_a_run_that_was_stopped_says_so(tmp_path: Path) -> None:
    assert "incomplete: 40 of 60 samples" in words(verdict(tmp_path / "a", 40, samples=60))
    assert "incomplete" not in words(verdict(tmp_path / "b", 40, samples=40))


@pytest.mark.parametrize("n", [1, 3, 29])
def test_small_samples_settle_nothing(tmp_path: Path, n: int) -> None:
    found = verdict(tmp_path, n)
    assert {finding.kind for finding in found.findings} == {"open"}
    assert all("n too small" in finding.badge for finding in found.findings)
    assert f"n = {n} is too small for a conclusion about accuracy" in words(found)


@pytest.mark.parametrize("method", ["fly", "spd"])
def test_never_called_lossless(tmp_path: Path, method: str) -> None:
    rule = {"verify": {"kind": "fly" if method == "fly" else "exact"}}
    found = verdict(tmp_path, 4, method=method, method_config=rule)
    assert "lossless" not in words(found).lower()
    assert ("Loose rule: " in words(found)) == (method == "fly")


def test_no_baseline(tmp_path: Path) -> None:
    found = verdict(tmp_path, 3, baseline=False)
    assert "No sample was finished by both AR and fly" in words(found)
    assert not found.findings[1].text.startswith("fly")


def test_ar_solved_none(tmp_path: Path) -> None:
    found = verdict(tmp_path, 4, right=0, lose=[1])
    said = words(found)
    assert "1/4 right against 0/4 for AR, retention undefined because AR solved none" in said


def test_a_tiny_count_gives_no_retention_and_says_so(tmp_path: Path) -> None:
    found = verdict(tmp_path, 40, right=0.1, lose=[1])
    said = words(found)
    assert "3/40 right against 4/40 for AR, retention suppressed because AR solved too few" in said
    assert found.findings[1].badge == "accuracy not resolved"


def test_notes(tmp_path: Path) -> None:
    found = verdict(tmp_path, 3, warnings=["The GPU was shared."], judged="partly judged")
    assert found.notes[-1] == "The GPU was shared."
    assert "Only some of the samples are scored." in found.notes
    assert any("equal AR's token for token" in note for note in found.notes)
