"""An export beside what lm-eval writes of the same task, and lm-eval's own readers on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datasets import load_dataset
from lm_eval.utils import get_latest_filename, get_results_filenames, make_table

from flybench.cli.main import main
from tests.helpers.capitals import Capitals, without_defaults
from tests.helpers.synthetic import write_run

# What a run does not hold: texts of the environment, the tokenizer and lm-eval's own seeds.
UNKNOWN = {"pretty_env_info", "upper_git_hash", "eot_token_id", "max_length"}
UNKNOWN |= {f"tokenizer_{token}_token" for token in ("pad", "eos", "bos")}
SEEDS = {"numpy_seed", "torch_seed", "fewshot_seed"}


def read(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    (results,), (samples,) = folder.rglob("results_*.json"), folder.rglob("samples_*.jsonl")
    lines = samples.read_text(encoding="utf-8").splitlines()
    return json.loads(results.read_text(encoding="utf-8")), [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders of lm-eval's own files and of ours, of one model, method and task."""
    path = tmp_path_factory.mktemp("both")
    capitals = Capitals.write(path)
    capitals.run("fly", "model=random", "method.k=8")
    settings = "model=random,method=fly,method.k=8"
    asked = ["--model", "flybench", "--model_args", settings, "--tasks", str(capitals.recipe)]
    kept = ["--apply_chat_template", "--log_samples", "--output_path", str(path / "theirs")]
    with pytest.MonkeyPatch.context() as patch:
        without_defaults(patch)
        assert main(["lm-eval", "run", *asked, *kept]) == 0
    (run,) = (path / "results").glob("*-fly-capitals-*")
    assert main(["export", str(run), "--to", "lm_eval", "--out", str(path / "ours")]) == 0
    return path / "theirs", path / "ours" / f"{run.name}__fly"


@pytest.mark.slow
def test_results_have_lm_evals_keys_and_values(both: tuple[Path, Path]) -> None:
    (theirs, _), (ours, _) = map(read, both)
    assert set(theirs) - set(ours) == UNKNOWN
    assert not set(ours) - set(theirs)
    assert ours["results"] == theirs["results"]
    assert ours["n-samples"] == theirs["n-samples"]
    assert ours["higher_is_better"] == theirs["higher_is_better"]
    assert set(theirs["config"]) - set(ours["config"]) == SEEDS
    tau = [found["config"]["flybench"]["tau_pooled"] for found in (theirs, ours)]
    assert tau[0] == tau[1]


@pytest.mark.slow
def test_samples_have_lm_evals_keys_types_and_answers(both: tuple[Path, Path]) -> None:
    (_, theirs), (_, ours) = map(read, both)
    assert len(ours) == len(theirs)
    for own, other in zip(ours, theirs, strict=True):
        assert own.keys() == other.keys()
        assert {k: type(v) for k, v in own.items()} == {k: type(v) for k, v in other.items()}
        for name in ("doc_id", "resps", "filtered_resps", "filter", "metrics", "exact_match"):
            assert own[name] == other[name]
        assert own["arguments"]["gen_args_0"].keys() == other["arguments"]["gen_args_0"].keys()


@pytest.mark.slow
def test_lm_evals_tools_read_it(both: tuple[Path, Path], tmp_path: Path) -> None:
    folder = both[1]
    files = [str(file) for file in folder.iterdir()]
    latest = get_latest_filename(get_results_filenames(files))
    table = make_table(json.loads(Path(latest).read_text()))
    assert "capitals" in table and "exact_match" in table
    (samples,) = (str(file) for file in folder.glob("samples_*"))
    found = load_dataset("json", data_files=samples, cache_dir=str(tmp_path))
    assert found["train"].num_rows == 4


def test_every_metric_of_every_method(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 10, lose=[0, 1])
    assert main(["export", str(run.path), "--to", "lm_eval", "--out", str(tmp_path / "out")]) == 0
    found, samples = read(tmp_path / "out" / "run__fly")
    assert found["results"]["sums"]["strict,none"] == 0.6
    assert found["results"]["sums"]["flexible,none"] == 1.0
    assert found["results"]["sums"]["strict_stderr,none"] == pytest.approx((0.24 / 9) ** 0.5)
    assert [sample["doc"]["sample_id"] for sample in samples][:2] == ["sums/000", "sums/001"]
    assert samples[0]["filtered_resps"] == ["18"]
    assert read(tmp_path / "out" / "run__ar")[0]["results"]["sums"]["strict,none"] == 0.8


def test_unscored_runs_have_answers_and_no_metric(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 3, scored=False)
    assert main(["export", str(run.path), "--to", "lm_eval", "--out", str(tmp_path / "out")]) == 0
    found, samples = read(tmp_path / "out" / "run__fly")
    assert found["results"]["sums"] == {"name": "sums", "alias": "sums", "sample_len": 3}
    assert samples[0]["resps"] == [["The sum is 0."]]


def test_a_task_that_is_no_name_is_refused(tmp_path: Path, capsys: Any) -> None:
    run = write_run(tmp_path / "run", 2, task="../../escaped")
    assert main(["export", str(run.path), "--to", "lm_eval", "--out", str(tmp_path / "out")]) == 2
    assert "part of a folder's name" in capsys.readouterr().err
