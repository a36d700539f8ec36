"""What arms are called, and what comes into one group."""

from __future__ import annotations

from pathlib import Path

from flybench.report.group import groups
from flybench.report.run import load
from tests.helpers.synthetic import cell, write_run


def test_settings_that_differ_tell_runs_apart(tmp_path: Path) -> None:
    runs = [cell(tmp_path, "a", 0.1, 4), cell(tmp_path, "b", 0.3, 4), cell(tmp_path, "c", 0.3, 6)]
    [group] = groups(load(runs))
    names = [group.names[arm] for arm in group.compared]
    assert names == ["fly θ=0.1 W=4", "fly θ=0.3 W=4", "fly θ=0.3 W=6"]
    assert group.compared[0].label == "fly θ=0.1 W=4 · sums · tiny"


def test_ar_of_one_sweep_comes_once(tmp_path: Path) -> None:
    [group] = groups(load([cell(tmp_path, "a", 0.1), cell(tmp_path, "b", 0.3)]))
    assert [group.names[arm] for arm in group.baselines] == ["ar"]
    [apart] = groups(load([cell(tmp_path, "a"), cell(tmp_path, "c", 0.1, right=0.2)]))
    assert [apart.names[arm] for arm in apart.baselines] == ["ar (a)", "ar (c)"]


def test_runs_alike_are_told_apart_by_their_keys(tmp_path: Path) -> None:
    runs = [cell(tmp_path, "tiny-fly-0123"), cell(tmp_path, "tiny-fly-4567")]
    [group] = groups(load(runs))
    assert [arm.name for arm in group.compared] == ["fly (0123)", "fly (4567)"]


def test_other_hardware_is_named(tmp_path: Path) -> None:
    [group] = groups(load([cell(tmp_path, "a"), cell(tmp_path, "b", device="GPU")]))
    assert [arm.name for arm in group.compared] == ["fly device=CPU", "fly device=GPU"]


def test_every_task_and_model_is_a_group_with_a_plain_key(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / str(number), 2, task=task)
        for number, task in enumerate(["../sums", "sums", "数学", "sums"])
    ]
    found = groups(load(runs))
    assert [group.key for group in found] == ["sums-tiny-1", "sums-tiny-2", "tiny"]
    assert [len(group.runs) for group in found] == [1, 2, 1]
