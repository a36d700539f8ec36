"""Rows and numbers of the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from flybench.metrics.glossary import GLOSSARY
from flybench.report.group import groups
from flybench.report.run import Run, load
from flybench.report.tables import overview, samples
from flybench.report.tables import table as tables
from flybench.report.tables.provenance import command
from flybench.report.tables.table import Table
from flybench.text import interval, number, percent, shorten
from tests.helpers.synthetic import write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Ten samples, two lost and one won."""
    path = tmp_path_factory.mktemp("tables")
    return load([write_run(path / "run", 10, lose=[0, 4, 9])])[0]


def column(table: Table, label: str) -> list[str]:
    [place] = [i for i, head in enumerate(table.columns) if head.label == label]
    return [row[place].text for row in table.rows]


def test_every_figure_is_in_the_glossary(run: Run) -> None:
    for arm in run.arms:
        assert set(arm.row.plain()) <= set(GLOSSARY)
    assert all(entry.meaning and entry.label for entry in GLOSSARY.values())


def test_headline_has_ar_first_and_dashes(run: Run) -> None:
    table = overview.headline(*groups([run]), {})
    assert column(table, "method") == ["ar", "fly"]
    assert column(table, "retention")[0] == "—"
    assert column(table, "both / lost / won / neither") == ["—", "6 / 2 / 1 / 1"]
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_slower_is_said(tmp_path: Path) -> None:
    [slow] = load([write_run(tmp_path / "run", 3, speed=0.5)])
    found = tables.cell(slow.arms[1].row, "speedup_throughput")
    assert found.kind == "slower" and found.note.startswith("slower [0.4")
    assert found.text.startswith("0.4")


def test_samples_mark_flips(run: Run) -> None:
    table = samples.samples(run, run.compared[0])
    flips = dict(zip(column(table, "sample"), column(table, "flip"), strict=True))
    marked = {name: flip for name, flip in flips.items() if flip}
    assert marked == {"sums/000": "▼ lost", "sums/004": "▼ lost", "sums/009": "▲ won"}
    assert len(table.rows) == 10
    flipped = samples.flips(run, run.compared[0])
    assert flipped is not None and column(flipped, "sample") == list(marked)


def test_samples_of_one_sided_runs(tmp_path: Path) -> None:
    [alone] = load([write_run(tmp_path / "method", 2, baseline=False)])
    table = samples.samples(alone, alone.arms[0])
    assert column(table, "tokens, AR") == ["—", "—"]
    assert column(table, "speed-up, throughput") == ["—", "—"]
    [plain] = load([write_run(tmp_path / "ar", 2, method="ar")])
    assert column(samples.samples(plain, plain.arms[0]), "tokens, AR") == ["40", "40"]


def test_categories_add_up(run: Run) -> None:
    table = samples.categories(run, run.compared[0])
    assert table is not None
    assert column(table, "category") == ["even", "odd"]
    assert column(table, "pairs") == ["5", "5"]
    assert column(table, "right, AR") == ["4/5", "4/5"]


def test_rules_are_side_by_side(run: Run) -> None:
    table = overview.rules(*groups([run]))
    assert table is not None
    assert [row[0].text for row in table.rows] == ["flexible", "strict"]
    assert [cell.text for cell in table.rows[1][1:]] == ["80.0", "70.0"]


def test_command_is_made_up_where_none_was_recorded(tmp_path: Path) -> None:
    [bare] = load([write_run(tmp_path / "run", 1, invocations=[])])
    assert command(bare) == "flybench run model=tiny method=fly task=sums"


def test_numbers() -> None:
    assert number(None) == number(float("nan")) == number(float("inf")) == "—"
    assert number(1234.5, 1) == "1,234.5"
    assert interval((0.5, 1.0), 1, 100) == "[50.0,\u00a0100.0]"
    assert interval(None) == ""
    assert percent(0.99) == "99.0\u00a0%"
    assert shorten("abcdef", 4) == "abc…"
