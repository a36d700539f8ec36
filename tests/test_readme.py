"""What the README prints of the reference runs is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from flybench.cli.main import main

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(?:^    .*\n|^\n)+", re.MULTILINE)


def examples(verb: str) -> list[tuple[list[str], list[str]]]:
    """Commands of `verb` on reference runs, each with the lines that stand below it."""
    found = []
    for block in BLOCK.findall((ROOT / "README.md").read_text()):
        text = block.replace("\\\n", " ")  # commands that go on in the next line
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines and lines[0].startswith(f"flybench {verb} results/qwen"):
            found.append((shlex.split(lines[0])[1:], lines[1:]))
    return found


def test_compare(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    ((arguments, shown),) = examples("compare")
    assert main(arguments) == 1
    printed = {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert len(shown) > 10
    assert not {" ".join(line.split()) for line in shown} - printed
