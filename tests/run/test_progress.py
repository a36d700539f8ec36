"""One count over a sweep: lines for a pipe, one bar for a terminal."""

from __future__ import annotations

import io
import sys

import pytest

from flybench.run import progress as progress_module
from flybench.run.progress import Progress

pytestmark = pytest.mark.usefixtures("log_on_stderr")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def decode(progress: Progress, answers: int, cell: str) -> None:
    with progress.decoding():
        for _ in range(answers):
            progress.on(cell)
            progress.step()


def test_a_pipe_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(done=2)
    progress.expect(6)
    decode(progress, 4, "pair spd")
    progress.expect(3)  # a cell has failed, and what was ahead has become more
    decode(progress, 3, "pair fly")
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("6 of 8 answers, ") and first.endswith("left: pair spd")
    assert second.startswith("9 of 9 answers, ") and second.endswith("left: pair fly")


def test_lines_come_at_intervals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_module, "LINE_EVERY_S", 0.0)
    progress = Progress()
    progress.expect(3)
    decode(progress, 3, "cell")
    told = [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()]
    assert told == ["1 of 3 answers", "2 of 3 answers", "3 of 3 answers"]


def test_a_terminal_gets_one_bar_that_leaves_the_line_free(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = Progress(done=1)
    progress.expect(3)
    assert terminal.getvalue() == ""
    decode(progress, 2, "pair spd")
    progress.expect(1)
    drawn = terminal.getvalue()
    assert "pair spd" in drawn and "/4" in drawn and "\n" not in drawn
    assert drawn.rsplit("\r", 2)[1].strip() == ""
    decode(progress, 1, "pair fly")
    assert "/4" in terminal.getvalue().removeprefix(drawn)  # it goes on where it was


@pytest.mark.parametrize("how", ["plain", "silent"])
def test_other_processes_on_a_terminal_draw_no_bar(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = Progress(**{how: True})
    progress.expect(1)
    decode(progress, 1, "cell")
    assert terminal.getvalue().count("\n") == (how == "plain")
    assert "\r" not in terminal.getvalue()
