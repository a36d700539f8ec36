"""The report of every kind of run: whole, one-sided, failed, unscored, several."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import structs

from flybench.core.errors import FlybenchError
from flybench.records.folder import RunFolder
from flybench.report import write_report
from tests.helpers.parsing import Page
from tests.helpers.synthetic import write_run

SECTIONS = ("verdict", "time", "why", "differences", "inspector", "glossary", "reproduction")
FIGURES = ("pareto", "phases", "tau", "lengths", "positions", "outcomes", "divergence")


class Written(NamedTuple):
    folder: Path
    html: str
    page: Page
    markdown: str


def report(out: Path, *runs: RunFolder) -> Written:
    index = write_report(runs, out)
    assert index == out / "index.html"
    html = index.read_text(encoding="utf-8")
    return Written(out, html, Page(html), (out / "report.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Three samples of one method."""
    path = tmp_path_factory.mktemp("three")
    return report(path / "out", write_run(path / "run", 3))


def test_sections_come_in_order(three: Written) -> None:
    found = [attributes.get("id") for attributes in three.page.tags("section")]
    assert found == list(SECTIONS)
    assert len(three.page.tags("h1")) == 1


def test_page_needs_nothing_else(three: Written) -> None:
    for address in three.page.loads:
        assert address.startswith(("data:image/", "#")), address[:60]
    assert not three.page.tags("link")
    assert not re.search(r"url\(|@import|https?://|fetch\(|import\(", three.html)


def test_policy_forbids_other_scripts_and_loads(three: Written) -> None:
    [policy] = [
        meta["content"]
        for meta in three.page.tags("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; ")
    assert "http" not in policy
    [script] = re.findall(r"<script>(.*?)</script>", three.html, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"; script-src 'sha256-{allowed}'; " in policy


def test_figures_have_words_and_both_schemes(three: Written) -> None:
    images, sources = three.page.tags("img"), three.page.tags("source")
    assert len(images) == len(sources) == len(FIGURES)
    for image, source in zip(images, sources, strict=True):
        assert len(image["alt"]) > 40
        assert image["src"] != source["srcset"]
        assert source["media"] == "(prefers-color-scheme: dark)"


def test_table_headers_have_scope(three: Written) -> None:
    assert {head.get("scope") for head in three.page.tags("th")} == {"col", "row"}


def test_markdown_has_the_same_headline(three: Written) -> None:
    table = three.html.split("<tbody>")[1].split("</tbody>")[0]
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", table)
    shown = [" ".join(re.sub(r"<[^>]*>", "", cell).split()) for cell in cells]
    lines = three.markdown.split("\n### ")[1].split("![")[0].splitlines()
    rows = [line for line in lines if line.startswith("|")][2:]
    written = [cell.strip().replace("\\", "") for row in rows for cell in row.split(" | ")]
    written = [" ".join(cell.strip("| ").split()) for cell in written]
    assert [cell for cell in written if cell] == [cell for cell in shown if cell]


def test_markdown_links_to_written_figures(three: Written) -> None:
    linked = re.findall(r"\]\((figures/[a-z0-9-]+\.png)\)", three.markdown)
    assert linked == [f"figures/{name}-sums-tiny.png" for name in FIGURES]
    for name in linked:
        assert (three.folder / name).read_bytes().startswith(b"\x89PNG")
    assert len(list((three.folder / "figures").iterdir())) == len(FIGURES)


def test_small_sample_is_said_to_be_small(three: Written) -> None:
    assert "n = 3 is too small for a conclusion about speed" in three.page.text
    assert "n = 3 is too small for a conclusion about accuracy" in three.page.text


def test_command_names_no_machine_path(three: Written) -> None:
    assert "git checkout 0123abc flybench run model=tiny method=fly task=sums" in three.page.text


def test_ar_alone(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 3, method="ar")
    written = report(tmp_path / "out", run)
    assert "no other method was run for comparison" in written.page.text
    assert "baseline only" in written.markdown
    assert [plot.name for plot in (tmp_path / "out/figures").iterdir()] == ["phases-sums-tiny.png"]
    assert report(tmp_path / "again", run).html == written.html, "the same files, another page"


def test_every_sample_failed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 2, failing="OutOfMemoryError: 1 GiB\nmissing")
    written = report(tmp_path / "out", run)
    assert "No sample of fly finished" in written.page.text
    assert written.page.text.count("OutOfMemoryError: 1 GiB missing") == 4
    assert written.markdown.count("OutOfMemoryError: 1 GiB ⏎ missing") == 4
    assert not written.page.tags("img")


def test_unscored(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 3, scored=False, judged="unjudged")
    written = report(tmp_path / "out", run)
    assert "This task has no scoring rule" in written.page.text
    assert (
        "not resolved" not in written.page.text.split("How to reproduce it")[1].split("Glossary")[0]
    )
    assert len(written.page.tags("img")) == len(FIGURES)


def test_two_runs(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / "first", 3),
        write_run(tmp_path / "second", 3, method="spd", speed=0.5),
    ]
    written = report(tmp_path / "out", *runs)
    assert "flybench: fly, spd on sums, tiny" in written.page.text
    assert "fly looks faster than AR" in written.page.text
    assert "spd looks slower than AR" in written.page.text
    assert "ar (second)" not in written.page.text, "both runs share one AR"
    assert "slower" in {cell.get("class", "").split(" ")[-1] for cell in written.page.tags("td")}


def test_bare_provenance(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 2, method="ar")
    (run.path / "provenance.json").write_text(json.dumps({"models": None}), encoding="utf-8")
    run.config_file.unlink()
    with pytest.raises(FlybenchError, match="missing or incomplete"):
        report(tmp_path / "out", run)


def test_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FlybenchError, match="at least one run folder"):
        write_report([], tmp_path)


def test_a_few_rounds_give_no_ratios_and_a_whole_page(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 1)
    for record in run.records().values():
        turn = record.turns[0]
        few = [(one, min(one.drafted, 2)) for one in turn.rounds[:2]]
        rounds = [structs.replace(one, drafted=n, accepted=min(one.accepted, n)) for one, n in few]
        ids = turn.ids[: sum(one.emitted for one in rounds)]
        run.append(structs.replace(record, turns=[structs.replace(turn, rounds=rounds, ids=ids)]))
    text = report(tmp_path / "out", run).page.text
    assert "too few (n=2)" in text and "too few (n=4)" in text


def test_no_records_yet(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 0)
    assert "have no records yet" in report(tmp_path / "out", run).page.text
