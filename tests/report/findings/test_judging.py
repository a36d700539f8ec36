"""The report of a judged run: grades and comparisons, and nothing told as right or wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flybench.cli.main import main
from flybench.records.folder import RunFolder
from flybench.report import write_report
from tests.helpers.endpoints import Answer, endpoint
from tests.helpers.parsing import Page
from tests.helpers.recorded import write_questions, write_recorded
from tests.helpers.synthetic import write_run

GRADES = {"4": 9, "5": 7, "Four it is.": 8, "6": 2, "Hello.": 5}
LOUD = "<b>Better</b>"


def statistics(number: int, prompt: str) -> Answer:
    """Prefers `4` to `Four it is.`, and cannot grade a greeting."""
    if "Verdict: X" in prompt:
        first = prompt.index("\n4\n") < prompt.index("Four it is.")
        return Answer(f"{LOUD}.\nVerdict: {'A' if first else 'B'}")
    last = re.findall(r"<answer[^>]*>\n(.*?)\n</answer>", prompt)[-1]
    return Answer(f"{LOUD}.\nGrade: {GRADES[last]}" if last != "Hello." else LOUD)


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setenv("FLYBENCH_CACHE", str(tmp_path / "cache"))
    folder = write_recorded(tmp_path / "run", write_questions(tmp_path / "mt"))
    with endpoint(statistics) as server:
        where = ["judge=openai", "judge.model=toy", f"judge.base_url={server.base_url}"]
        prices = ["judge.input_price=10", "judge.output_price=100"]
        assert main(["score", str(folder.path), *where, *prices]) == 0
    return folder


@pytest.mark.slow
def test_grades_and_comparisons_are_told_in_words(judged: RunFolder, tmp_path: Path) -> None:
    html = write_report([judged], tmp_path / "out").read_text()
    text = " ".join(Page(html).text.split())
    for part in (
        "toy grades its answers 5.00 out of 10 on average, versus 8.00 for AR",
        "the judge prefers fly in 0, AR in 1 and neither in 1: win rate 25.0 %",
        "n = 1 is too small for a conclusion about grades",
        "1 of the judge's 5 replies have no readable verdict: they are excluded",
        "Only some of the samples are scored.",
        "results and cost of the judge",
        "answers where the judge has a preference",
        "kind=openai, model=toy, base_url=http://127.0.0.1",
    ):
        assert part in text, part
    assert LOUD not in html, "what a judge writes is text"
    markdown = (tmp_path / "out" / "report.md").read_text()
    assert "win rate 25.0" in markdown and LOUD not in markdown


@pytest.mark.slow
def test_nothing_is_shown_as_right_or_wrong(judged: RunFolder, tmp_path: Path) -> None:
    html = write_report([judged], tmp_path / "out").read_text()
    before_glossary = html.split('id="glossary"')[0]
    assert not set("✓✗") & set(before_glossary)
    assert "McNemar p =" not in html and "AR solved" not in before_glossary
    twin = (tmp_path / "out" / "report.md").read_text()
    assert "grade, AR" in twin and "right, AR" not in twin


@pytest.mark.slow
def test_runs_with_and_without_a_judge_share_a_page(judged: RunFolder, tmp_path: Path) -> None:
    html = write_report([judged, write_run(tmp_path / "sums", 3)], tmp_path / "out").read_text()
    twin = (tmp_path / "out" / "report.md").read_text()
    assert "win rate against AR" in html and "✓" in twin and "McNemar p" in html


@pytest.mark.slow
def test_a_page_without_a_judge_says_nothing_of_one(tmp_path: Path) -> None:
    html = write_report([write_run(tmp_path / "sums", 3)], tmp_path / "out").read_text()
    head = html.split('id="verdict"')[1].split("<details")[0]
    assert "win rate" not in head
    assert "results and cost of the judge" not in html


def test_grades_are_no_plan_for_samples(
    judged: RunFolder, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["power", str(judged.path)]) == 2
    assert "no rule-scored answers" in capfd.readouterr().err
