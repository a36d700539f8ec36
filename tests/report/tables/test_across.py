"""Several runs in one report: seeds pooled, tests of accuracy corrected together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flybench.records.folder import RunFolder
from flybench.report import write_report
from flybench.report.findings.verdict import verdicts
from flybench.report.run import load
from flybench.report.sweep_summary import sweep_summary
from flybench.report.tables.across import accuracy_tests, notes, tables
from flybench.report.tables.table import plain
from tests.helpers.synthetic import write_run


def seeded(path: Path, temperature: float, *lost: range) -> list[RunFolder]:
    def one(seed: int, lose: range) -> RunFolder:
        about: dict[str, Any] = {"family": "f", "seed": seed}
        about["sampling"] = {"temperature": temperature}
        return write_run(path / f"seed{seed}", 40, lose=lose, **about)

    return [one(seed, lose) for seed, lose in enumerate(lost)]


@pytest.mark.slow
def test_pooled_figures_and_both_scatters(tmp_path: Path) -> None:
    folders = seeded(tmp_path, 1.0, range(2), range(4), range(6))
    [table] = tables(load(folders))
    assert "fly on sums, tiny. Seeds 0, 1, 2" in table.caption
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    assert rows["accuracy (%)"] == ["3", "40", "70.0", "5.00", "6.75"]
    assert rows["AR's accuracy (%)"][2:4] == ["80.0", "0.00"]
    assert plain(table) in sweep_summary(folders)
    page = write_report(folders, tmp_path / "out").read_text(encoding="utf-8")
    assert "Across seeds: fly on sums, tiny" in page


def test_greedy_seeds_are_said_to_change_nothing(tmp_path: Path) -> None:
    folders = seeded(tmp_path, 0.0, range(2), range(2))
    runs = load(folders)
    assert tables(runs) == []
    [note] = notes(runs)
    assert note.startswith("Seeds 0, 1 of sums, tiny decode greedily") and note in sweep_summary(
        folders
    )


def test_runs_of_different_families_or_none_are_not_pooled(tmp_path: Path) -> None:
    runs = load([write_run(tmp_path / name, 3) for name in "ab"])
    assert tables(runs) == [] and notes(runs) == []
    assert sweep_summary([write_run(tmp_path / "alone", 3)]) == ""


def test_a_family_of_three(tmp_path: Path) -> None:
    lost = {"a": range(6), "b": range(7), "c": range(1)}
    runs = load(
        [
            write_run(tmp_path / name, 40, method=name, lose=lose, repeat=True)
            for name, lose in lost.items()
        ]
    )
    table = accuracy_tests(runs)
    assert table is not None
    assert "correction for 3 tests" in table.caption
    found = [[cell.text for cell in row[2:]] for row in table.rows]
    assert found == [
        ["0.031", "0.062", "not shown"],
        ["0.016", "0.047", "less accurate"],
        ["1.000"] * 2 + ["not shown"],
    ]
    [verdict] = verdicts(runs[0])
    assert "McNemar p = 0.062 after Holm's correction for 3 tests, uncorrected p = 0.031" in (
        verdict.findings[1].text
    )


def test_a_loss_that_the_family_does_not_show_is_called_so(tmp_path: Path) -> None:
    """Its interval is below the margin, and six tests are many."""
    runs = load(
        [
            write_run(tmp_path / str(number), 40, method=f"m{number}", lose=lose, repeat=True)
            for number, lose in enumerate([range(6), *[range(1)] * 5])
        ]
    )
    texts = [verdicts(run)[0].findings[1].text for run in runs]
    assert "loses accuracy" in texts[0]
    assert "the 6 tests in this report, the loss is not significant" in texts[0]
    assert not any("loss is not significant" in text for text in texts[1:])


def test_one_test_is_no_family(tmp_path: Path) -> None:
    runs = load([write_run(tmp_path / "run", 40)])
    assert accuracy_tests(runs) is None and runs[0].compared[0].holm is None
