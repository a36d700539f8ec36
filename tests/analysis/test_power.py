"""`flybench power` reads a run's own pairs, and says what it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from flybench.cli.main import main
from flybench.metrics.stats import Pairs, samples_needed
from tests.helpers import hand_built


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    records = [*hand_built.ar_records(), *hand_built.fly_records()]
    found = hand_built.write(tmp_path, records, hand_built.scores())
    found.config_file.write_text("model: {}\n")
    return found.path


def test_the_plan_comes_from_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", str(folder), "--margin", "0.02"]) == 0
    printed = capsys.readouterr().out
    assert "of 1 pairs, 0 right in both, 1 lost, 0 won, 0 wrong in both" in printed
    needed = samples_needed(Pairs(0, 1, 0, 0), 0.02, 0.8)
    assert f"{needed:,}" in printed
    assert "0.005" not in printed
    assert "treat these numbers as rough" in printed


def test_without_a_margin_four_are_planned(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["power", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:6]] == ["0.005", "0.01", "0.02", "0.05"]


@pytest.mark.parametrize("margin", ["0", "1", "-0.1"])
def test_a_margin_is_a_share(folder: Path, margin: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", str(folder), f"--margin={margin}"]) == 2
    assert "use a number between 0 and 1" in capsys.readouterr().err


def test_an_unjudged_run_tells_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = hand_built.write(tmp_path, [*hand_built.ar_records(), *hand_built.fly_records()], [])
    found.config_file.write_text("model: {}\n")
    assert main(["power", str(found.path)]) == 2
    assert "no rule-scored answers of both ar and a method" in capsys.readouterr().err


def test_where_ar_solved_nothing_there_is_nothing_to_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [*hand_built.ar_records(), *hand_built.fly_records()]
    wrong = [structs.replace(score, correct=0.0) for score in hand_built.scores()]
    found = hand_built.write(tmp_path, records, wrong)
    found.config_file.write_text("model: {}\n")
    assert main(["power", str(found.path)]) == 2
    assert "ar solved none" in capsys.readouterr().err


def test_a_run_without_pairs_does_not_stop_the_others(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = hand_built.write(tmp_path / "ar", hand_built.ar_records(), hand_built.scores()[:3])
    alone.config_file.write_text("model: {}\n")
    assert main(["power", str(alone.path), str(folder)]) == 2
    found = capsys.readouterr()
    assert "of 1 pairs" in found.out
    assert "no rule-scored answers of both ar and a method" in found.err


@pytest.mark.parametrize("verb", ["power", "score", "report"])
def test_what_a_glob_catches_beside_runs_is_passed_over(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    """A run with a broken configuration is still a run, which power alone does not read."""
    beside, other = folder / "README.md", folder / "latency-x"
    beside.write_text("notes")
    other.mkdir()
    expected = 0 if verb != "score" else 2
    out = ["--out", str(folder / "page")] if verb == "report" else []
    assert main([verb, str(beside), str(other), str(folder), *out]) == expected
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == [f"Skipping {path}, which is not a run folder." for path in (beside, other)]
    assert main([verb, str(beside)]) == 2
    assert "is not a run folder (it has no config.yaml)" in capsys.readouterr().err
    assert main([verb, str(folder), str(folder / "typo")]) == 2
    assert "typo is not a run folder" in capsys.readouterr().err
