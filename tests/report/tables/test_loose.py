"""Loose tokens before a wrong fact are counted, listed and harmless to the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from flybench.core.samples import LooseToken, TargetStatistics
from flybench.records.folder import RunFolder
from flybench.report import write_report
from flybench.report.findings.verdict import verdicts
from flybench.report.run import load
from flybench.report.tables import loose
from tests.helpers.parsing import HOSTILE, Page
from tests.helpers.synthetic import write_run


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Two answers are lost; the first of them says 18 after one loose token and before another."""
    folder = write_run(tmp_path / "run", 40, lose=[0, 4])
    for (sample, method), record in folder.records().items():
        if method != "fly":
            continue
        tokens = [
            LooseToken(3, TargetStatistics(7, 0.125, 0.5, 2, 1.0), " 9", " 8" + HOSTILE, start=2),
            LooseToken(9, TargetStatistics(7, 0.25, 0.5, 2, 1.0), " big", " large", start=15),
        ]
        rounds = [structs.replace(r, loose=0) for r in record.turns[0].rounds]
        turn = structs.replace(record.turns[0], text="It is 18, at last.", rounds=rounds)
        if sample in ("sums/000", "sums/001"):
            rounds[0] = structs.replace(rounds[0], loose=2)
            turn = structs.replace(turn, loose_tokens=tokens)
        folder.append(structs.replace(record, turns=[turn]))
    return folder


def test_only_tokens_before_a_fact_that_ar_had_right(folder: RunFolder) -> None:
    [run] = load([folder])
    [arm] = run.compared
    assert (arm.row["loose_flips"], arm.row["loose_harmful"]) == ((1, 0), 1)
    table = loose.before_lost(run, arm)
    assert table is not None
    [row] = [[cell.text for cell in row] for row in table.rows]
    assert row[0:2] + row[3:] == ["sums/000", "“ 9”", "digit", "3", "12.5", "50.0", "2", "1.00"]
    [verdict] = verdicts(run)
    assert any(
        "1 loose token precedes an extracted answer that only AR" in note for note in verdict.notes
    )


def test_tokens_before_a_fact_that_was_won_are_told_too(folder: RunFolder) -> None:
    flipped = {("sums/000", "ar"): 0.0, ("sums/000", "fly"): 1.0}
    folder.write_scores(
        [
            structs.replace(score, correct=flipped.get(key, 1.0))
            for key, score in folder.scores().items()
        ]
    )
    [run] = load([folder])
    [arm] = run.compared
    table = loose.before_won(run, arm)
    assert table is not None
    assert "only the method got right" in table.caption
    assert [row[0].text for row in table.rows] == ["sums/000"]


def test_nothing_of_it_acts_on_the_page(folder: RunFolder, tmp_path: Path) -> None:
    index = write_report([folder], tmp_path / "out")
    html = index.read_text(encoding="utf-8")
    page, twin = Page(html), index.with_name("report.md").read_text(encoding="utf-8")
    assert "loose tokens before an extracted answer that only AR got right" in page.text
    data = [tag for tag in page.tags("script") if tag.get("type") == "application/octet-stream"]
    assert len(page.tags("script")) == len(data) + 1, "the inspector's own and its data"
    assert "<script" not in twin
    assert "&lt;script&gt;" in html and "&lt;script&gt;" in twin


def test_without_harm_there_is_no_table(tmp_path: Path) -> None:
    [run] = load([write_run(tmp_path / "run", 3, method="spd", lose=[0])])
    assert loose.before_lost(run, run.compared[0]) is None
