"""The table that a run prints: what is alike stands above, what says nothing is left out."""

from __future__ import annotations

from pathlib import Path

from flybench.metrics.summary import summarise
from flybench.run.headline import headline
from tests.helpers.synthetic import write_run


def test_a_common_model_and_task_stand_above(tmp_path: Path) -> None:
    title, head, ar, fly = headline(summarise(write_run(tmp_path / "run", 40))).splitlines()
    assert title == "tiny, sums"
    assert head.split()[:3] == ["method", "n", "accuracy"]
    assert head.split()[-3:] == ["length", "cut", "loops"]
    assert (ar.split()[0], fly.split()[0]) == ("ar", "fly")
    assert max(map(len, (head, ar, fly))) < 178


def test_different_tasks_keep_their_column(tmp_path: Path) -> None:
    rows = summarise(write_run(tmp_path / "a", 3)) + summarise(
        write_run(tmp_path / "b", 3, task="words")
    )
    title, head, *lines = headline(rows).splitlines()
    assert title == "tiny"
    assert head.split()[0] == "task"
    assert [line.split()[0] for line in lines] == ["sums", "sums", "words", "words"]


def test_columns_without_a_figure_are_left_out(tmp_path: Path) -> None:
    _, head, _ = headline(summarise(write_run(tmp_path / "run", 3, method="ar"))).splitlines()
    assert "speed-up" not in head and "verdict" not in head and "tokens/s" in head
