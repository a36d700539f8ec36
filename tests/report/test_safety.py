"""Hostile text in every place that a model, a data set or a file name can fill."""

from __future__ import annotations

import json

import pytest

from flybench.records.folder import RunFolder
from flybench.report import write_report
from flybench.text import markdown, preformatted, visible
from tests.helpers.parsing import HOSTILE, Page
from tests.helpers.synthetic import write_run


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The page and the markdown of a run in which everything is hostile."""
    path = tmp_path_factory.mktemp("hostile")
    run = write_run(
        path / "run <img src=x onerror=alert(1)> `|",
        ids=[HOSTILE + str(i) for i in range(4)],
        n=4,
        lose=[0],
        method="fly" + HOSTILE,
        model=HOSTILE,
        task=HOSTILE,
        device=HOSTILE,
        warnings=[HOSTILE],
        invocations=[{"argv": ["flybench", HOSTILE], "git": {"commit": HOSTILE}}],
        method_config={HOSTILE: HOSTILE, "verify": {HOSTILE: {"k": HOSTILE}}},
    )
    _infect(run)
    index = write_report([run], path / "out")
    texts = (index, index.with_name("report.md"))
    page, twin = (text.read_text(encoding="utf-8") for text in texts)
    return page, twin


def _infect(run: RunFolder) -> None:
    """Put hostile text where `write_run` has no word of its own."""
    (run.path / "config.yaml").write_text(HOSTILE + "</pre>", encoding="utf-8")
    for name, keys in (
        ("records.jsonl", ("category", "text")),
        ("scores.jsonl", ("extracted", "reason")),
    ):
        path = run.path / name
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for index, row in enumerate(rows):
            for target in (row, *row.get("turns", ())):
                target |= {key: f"{index % 2}{HOSTILE}" for key in keys if key in target}
            row.get("metrics", {})[HOSTILE] = 1.0
        if name == "records.jsonl":
            rows[-1] |= {"turns": [], "error": HOSTILE + "\ud800"}
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_page_is_inert(hostile: tuple[str, str]) -> None:
    html, _ = hostile
    page = Page(html)
    data = [tag for tag in page.tags("script") if tag.get("type") == "application/octet-stream"]
    assert len(page.tags("script")) == len(data) + 1
    assert all("onerror" not in attributes for _, attributes in page.elements)
    assert all(image["src"].startswith("data:image/svg+xml;base64,") for image in page.tags("img"))
    for raw in ("<script>alert", "<img src=x", "\u202e", "\ud800"):
        assert raw not in html
    assert "{{ 7*7 }}" in html, "text was taken for a template"
    assert "⟨U+202E⟩" in html and "⟨U+D800⟩" in html
    assert "&lt;script&gt;" in html


def test_markdown_is_inert(hostile: tuple[str, str]) -> None:
    _, text = hostile
    for raw in ("<script", "<img", "\u202e", "\ud800"):
        assert raw not in text
    assert text.count("`") == text.count("\\`"), "a backtick is not escaped"
    assert "&lt;script&gt;" in text


def test_markdown_tables_keep_their_shape(hostile: tuple[str, str]) -> None:
    _, text = hostile
    width = None
    for line in text.splitlines():
        if not line.startswith("|"):
            width = None
            continue
        pipes = line.count("|") - line.count("\\|")
        assert width in (None, pipes), line[:200]
        width = pipes


def test_visible_spells_out_what_acts() -> None:
    assert visible("a\u202eb\u200bc\x1b\x85\u2028") == (
        "a⟨U+202E⟩b⟨U+200B⟩c⟨U+001B⟩⟨U+0085⟩⟨U+2028⟩"
    )
    assert visible("naïve 数学\n\t✓") == "naïve 数学\n\t✓"


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a|b", r"a\|b"),
        ("a\n  b", "a ⏎ b"),
        ("`x`", r"\`x\`"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
        ("![x](y)", r"\!\[x\](y)"),
        ("1.52 [1.4, 1.6]", r"1.52 \[1.4, 1.6\]"),
    ],
)
def test_markdown_shows_the_text_itself(text: str, safe: str) -> None:
    assert markdown(text) == safe


def test_preformatted_cannot_be_left() -> None:
    assert preformatted("</pre>`<b>") == "<pre>&lt;/pre&gt;&#96;&lt;b&gt;</pre>"
