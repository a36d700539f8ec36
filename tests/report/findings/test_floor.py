"""A method beside what AR differs from itself by."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from flybench.report.findings import floor
from flybench.report.findings.verdict import verdicts
from flybench.report.group import groups
from flybench.report.run import load
from tests.helpers.synthetic import write_run


def test_differences_beyond_the_floor_are_named(tmp_path: Path) -> None:
    [run] = load([write_run(tmp_path / "run", 40, repeat=True, lose=[1])])
    [verdict] = verdicts(run)
    [note] = [note for note in verdict.notes if "noise floor" in note]
    assert "0 of 40 answers differ, 0 of 40 verdicts flip, the speed-up is 1.00×" in note
    assert "fly exceeds it in: divergence, speed-up in throughput, speed-up in t" in note
    assert note.endswith("within it: flips.")
    table = floor.table(*groups([run]))
    assert table is not None
    repeat, fly = table.rows
    assert (repeat[0].note, repeat[1].text, fly[2].text) == ("the floor", "0 of 40", "1 of 40")
    assert fly[2].note == "within the floor" and fly[3].note.endswith("] above the floor")


def test_a_method_as_fast_as_ar_is_within_the_floor(tmp_path: Path) -> None:
    [run] = load([write_run(tmp_path / "run", 40, repeat=True, speed=1.05)])
    table = floor.table(*groups([run]))
    assert table is not None
    assert table.rows[1][3].note.endswith("within the floor")


def test_without_a_repeat_there_is_no_floor(tmp_path: Path) -> None:
    runs = load([write_run(tmp_path / "run", 3)])
    assert floor.table(*groups(runs)) is None
    assert floor.note(runs[0], runs[0].compared[0]) == ""


def test_ar_alone_shows_its_floor(tmp_path: Path) -> None:
    [run] = load([write_run(tmp_path / "run", 3, method="ar", repeat=True)])
    [verdict] = verdicts(run)
    assert verdict.title == "ar"
    assert any("0 of 3 answers differ" in note for note in verdict.notes)


@pytest.mark.parametrize(("more", "beyond"), [(5, False), (6, True)])
def test_a_count_is_beyond_where_mcnemar_says_so(more: int, beyond: bool) -> None:
    again = pd.Series([False] * 20)
    count = floor.Count.of(again, pd.Series([True] * more + [False] * (20 - more)))
    assert count == (20, 0, more, beyond)
    assert not floor.Count.of(pd.Series([True] * 20), again).beyond
