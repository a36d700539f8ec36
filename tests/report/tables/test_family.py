"""Several tests of accuracy are corrected together, and the verdict quotes the corrected one."""

from __future__ import annotations

from pathlib import Path

from flybench.report.findings.verdict import verdicts
from flybench.report.run import load
from flybench.report.tables import family
from tests.report.synthetic import write_run


def test_a_family_of_three(tmp_path: Path) -> None:
    lost = {"a": range(6), "b": range(7), "c": range(1)}
    runs = load(
        [
            write_run(tmp_path / name, 40, method=name, lose=lose, repeat=True)
            for name, lose in lost.items()
        ]
    )
    table = family.table(runs)
    assert table is not None
    assert "a family of 3 tests" in table.caption
    found = [[cell.text for cell in row[2:]] for row in table.rows]
    assert found == [
        ["0.031", "0.062", "not shown"],
        ["0.016", "0.047", "less accurate"],
        ["1.000"] * 2 + ["not shown"],
    ]
    [verdict] = verdicts(runs[0])
    assert "McNemar p = 0.062 after Holm's correction for 3 tests, = 0.031 raw" in (
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
    assert "Of the 6 tests of this report" in texts[0] and "a loss is not shown" in texts[0]
    assert not any("a loss is not shown" in text for text in texts[1:])


def test_one_test_is_no_family(tmp_path: Path) -> None:
    runs = load([write_run(tmp_path / "run", 40)])
    assert family.table(runs) is None and runs[0].compared[0].holm is None
