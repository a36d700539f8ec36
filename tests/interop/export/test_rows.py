"""Records as Parquet and as a dataset: every value comes back as it was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest
from datasets import load_dataset, load_from_disk

from flybench.cli.main import main
from flybench.records.folder import RunFolder
from tests.helpers.synthetic import write_run


@pytest.fixture
def runs(tmp_path: Path) -> list[RunFolder]:
    return [write_run(tmp_path / name, 3, seed=number) for number, name in enumerate("ab")]


def exported(runs: list[RunFolder], to: str, out: Path) -> int:
    return main(["export", *(str(run.path) for run in runs), "--to", to, "--out", str(out)])


def assert_same(rows: list[dict[str, Any]], runs: list[RunFolder]) -> None:
    found = {(row["run"], row["sample_id"], row["method"]): row for row in rows}
    assert len(found) == len(rows) == 12
    for run in runs:
        scores = run.scores()
        for (sample, method), record in run.records().items():
            row = found[run.path.name, sample, method]
            (turn,) = record.turns
            (kept,) = row["turns"]
            assert kept["ids"] == turn.ids
            assert kept["rounds"] == [msgspec.to_builtins(round_) for round_ in turn.rounds]
            assert (kept["text"], kept["total_s"]) == (turn.text, turn.total_s)
            score = scores[sample, method]
            assert row["correct"] == score.correct
            assert {one["name"]: one["value"] for one in row["metrics"]} == score.metrics
            assert row["prompt_sha256"] == record.prompt_sha256


def test_parquet(runs: list[RunFolder], tmp_path: Path) -> None:
    assert exported(runs, "parquet", tmp_path / "out") == 0
    file = str(tmp_path / "out" / "records.parquet")
    found = load_dataset("parquet", data_files=file, cache_dir=str(tmp_path / "cache"))
    assert_same(found["train"].to_list(), runs)
    assert list(pd.read_parquet(file)["seed"].unique()) == [0, 1]


def test_datasets(runs: list[RunFolder], tmp_path: Path) -> None:
    assert exported(runs, "datasets", tmp_path / "out") == 0
    assert_same(load_from_disk(str(tmp_path / "out")).to_list(), runs)


def test_failures_and_odd_text_are_kept(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 2, failing="broken \ud800", scored=False)
    assert exported([run], "parquet", tmp_path / "out") == 0
    found = pd.read_parquet(tmp_path / "out" / "records.parquet")
    assert set(found["error"]) == {"broken \\ud800"}
    assert found["correct"].isna().all()
    assert all(len(turns) == 0 for turns in found["turns"])


def test_what_may_be_secret_stays(tmp_path: Path) -> None:
    """Paths, command lines and the environment are no part of a row."""
    secret = "/home/me/token-abc"
    run = write_run(
        tmp_path / "run",
        2,
        models={"target": {"path": secret}},
        invocations=[{"argv": [secret], "environment": {"cpu": secret}}],
        task_config={"path": secret},
    )
    for to in ("parquet", "datasets", "lm_eval"):
        assert exported([run], to, tmp_path / to) == 0
        files = [file for file in (tmp_path / to).rglob("*") if file.is_file()]
        assert files and all(secret.encode() not in file.read_bytes() for file in files)


@pytest.mark.parametrize(
    ("to", "out", "said"),
    [
        ("parqet", "out", "did you mean parquet"),
        ("parquet", "full", "is not an empty folder"),
        ("parquet", "full/file", "is not an empty folder"),
    ],
)
def test_mistakes(
    runs: list[RunFolder], tmp_path: Path, capsys: Any, to: str, out: str, said: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    assert exported(runs, to, tmp_path / out) == 2
    assert said in capsys.readouterr().err
    assert (tmp_path / "full" / "file").read_text() == "mine"


def test_an_empty_run(tmp_path: Path, capsys: Any) -> None:
    assert exported([write_run(tmp_path / "run", 0)], "parquet", tmp_path / "out") == 2
    assert "has no records yet" in capsys.readouterr().err
    assert json.dumps([str(path) for path in (tmp_path / "out").glob("*")]) == "[]"
