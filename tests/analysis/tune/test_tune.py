"""Tuning as users run it, on a toy pair."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
import yaml

from flybench.analysis.tune import confirm as confirm_module
from flybench.cli.main import main
from flybench.records.folder import RunFolder
from tests.helpers import toys
from tests.helpers.measurements import FakeClock

pytestmark = pytest.mark.slow
ITEMS = 20
GRID = ["tune.rule=official", "tune.theta=0.1,0.6", "tune.window=2", "tune.k=4", "tune.looks=2"]
EFFORT = ["tune.confirm=1", "tune.lookup=true"]


@pytest.fixture(scope="module", autouse=True)
def data(tmp_path_factory: pytest.TempPathFactory) -> object:
    """A draft that is mostly right, costs that are given, and a task that AR solves."""
    folder = tmp_path_factory.mktemp("tune")
    rows = [
        {
            **{"id": f"n{n}", "category": "math", "kind": "open"},
            **{"turns": [f"{n} 1 2 1 2?"], "reference": {}},
        }
        for n in range(ITEMS)
    ]
    (folder / "demo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    toys.near_model("llama:1").save_pretrained(folder / "near")
    toys.byte_tokenizer().save_pretrained(folder / "near")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        sweep = "flybench.analysis.latency.sweep"
        for axis, points in {"WIDTHS": (2,), "CONTEXTS": (512,), "BATCHES": (4,)}.items():
            patch.setattr(f"{sweep}.{axis}", points)
        # Every pass takes a second: which settings are confirmed depends on no clock.
        patch.setattr("flybench.analysis.latency.record.Clock", lambda device: FakeClock(1.0))
        yield


def tune(*settings: str) -> int:
    model = ["model.target.path=random:llama:1", "model.draft.path=near"]
    task = ["task.path=demo.jsonl", "task.max_new_tokens=6", "warmup=0"]
    return main(["tune", *model, *task, *GRID, *EFFORT, *settings])


def folders() -> tuple[Path, Sequence[RunFolder], Sequence[RunFolder]]:
    (path,) = Path("results").glob("tune-*")
    parts = (sorted((path / name).iterdir()) for name in ("recorded", "confirmed"))
    recorded, confirmed = ([RunFolder(each) for each in part] for part in parts)
    return path, recorded, confirmed


@pytest.fixture(scope="module")
def out(data: object, tmp_path_factory: pytest.TempPathFactory) -> str:
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("builtins.print", lambda *text, **_: printed.append(" ".join(map(str, text))))
        assert tune() in (0, 3)  # by this machine's timings
    return "\n".join(printed)


def test_settings_are_chosen_on_one_half_and_reported_on_the_other(out: str) -> None:
    _, recorded, confirmed = folders()
    chosen, reported = (
        {sample for folder in part for sample, _ in folder.records()}
        for part in (recorded, confirmed)
    )
    assert len(chosen) == ITEMS // 2 and not chosen & reported
    assert len(reported) in (ITEMS // 4, ITEMS // 2)  # at the first look, or at the last
    assert all((folder.path / "traces").is_dir() for folder in recorded)


def test_it_ends_in_a_setting_or_says_what_is_not_resolved(out: str) -> None:
    assert "Recommended: " in out
    path, *_ = folders()
    page = (path / "tune.md").read_text()
    assert "Recommended: " in page and "front.png" in page and (path / "front.png").is_file()
    grid = pd.read_csv(path / "grid.csv")
    assert len(grid) == 1 + 2 and grid["front"].any()
    assert set(pd.read_csv(path / "confirmed.csv")["kind"]) <= {"exact", "fly"}


def test_a_dry_run_decodes_nothing(
    data: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "flybench.analysis.tune.prepare.Prepared.costs", lambda self: pytest.fail("costs")
    )
    assert tune("out=nowhere", "--dry-run") == 0
    printed = capsys.readouterr().out
    assert "From these, 3 settings would be replayed" in printed
    assert "up to 1 loose one would then run on 10 other samples" in printed
    assert not list(Path("nowhere").rglob("records.jsonl"))


def test_the_recommended_method_runs(out: str) -> None:
    path, *_ = folders()
    file = path / "conf/method/tuned.yaml"
    if not file.is_file():  # AR was the fastest: a matter of this machine's timings
        assert "Recommended: ar" in out
        return
    assert yaml.safe_load(file.read_text())["name"] == "tuned"
    command = ["run", "--config-dir", str(path / "conf"), "method=tuned", "model=random"]
    assert main([*command, "task.path=demo.jsonl", "task.max_new_tokens=8", "limit=2"]) == 0


def test_a_second_time_finds_everything_there(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = [len(folder.records_file.read_text().splitlines()) for folder in folders()[2]]
    assert tune() in (0, 3)
    assert "Measuring" not in capsys.readouterr().err  # the costs are there too
    after = [len(folder.records_file.read_text().splitlines()) for folder in folders()[2]]
    assert before == after


def test_a_decided_setting_is_decoded_no_further(out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirm_module, "_state", lambda *_: "not faster")
    monkeypatch.setattr(confirm_module.CandidateResult, "certain", True)  # of the exact one
    (costs,) = Path("results").glob("latency-*")
    assert tune("out=early", f"latency={costs}") in (0, 3)
    (path,) = Path("early").glob("tune-*")
    for folder in map(RunFolder, (path / "confirmed").iterdir()):
        assert len({sample for sample, _ in folder.records()}) == ITEMS // 4
