"""`flybench latency` as a user meets it, and as a machine without the configuration's packages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from flybench.cli.main import main
from tests.helpers.ranks import in_two_ranks

QUICK = ["model=random", "model.target.path=random:llama", "method.k=7"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("flybench.analysis.latency.record.busy_warnings", lambda device: [])
    monkeypatch.setattr("flybench.analysis.latency.timing.BUDGET_S", 1.0)
    return tmp_path


def test_measure_then_project(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["latency", *QUICK]) == 0
    (folder,) = Path("results").glob("latency-random-*")
    printed = capfd.readouterr().out
    assert printed.rstrip().endswith(str(folder))
    assert "longer than the model's 2048 tokens" in printed
    result = json.loads((folder / "latency.json").read_text())
    assert (result["model"], result["engine"], result["weights"]) == ("random", "eager", "own")
    assert result["environment"]["cpu"]
    table = pd.read_csv(folder / "latency.csv")
    assert len(table) == len(result["points"])
    assert table["step_ms"].notna().sum() == len(table) - 4
    assert (folder / "latency.png").read_bytes().startswith(b"\x89PNG")

    run = [*QUICK, "task=demo", "limit=2", "task.max_new_tokens=12"]
    assert main(["run", *run]) == 0
    (run_folder,) = Path("results").glob("random-fly-demo-*")
    capfd.readouterr()
    assert main(["latency", "--acceptance", str(run_folder)]) == 0
    printed = capfd.readouterr().out
    assert "speed-up (projection)" in printed
    assert f"costs of {folder / 'latency.json'}" in printed
    twice = [str(folder), str(folder / "latency.json")]
    assert main(["latency", "--acceptance", str(run_folder), *twice]) == 0
    assert capfd.readouterr().out.count("projection: rounds of") == 2


@pytest.mark.slow
def test_ranks_cost_their_target_together(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for axis, points in {"WIDTHS": (2,), "CONTEXTS": (512,), "BATCHES": (4,)}.items():
        monkeypatch.setattr(f"flybench.analysis.latency.sweep.{axis}", points)
    arguments = ["model=random", "method=spd", "method.k=3", "weights=random", "engine.tp=2"]

    def work() -> None:
        assert main(["latency", *arguments]) == 0

    in_two_ranks(work)
    assert capfd.readouterr().out.count("the part of one rank of 2") == 1
    (folder,) = Path("results").glob("latency-random-*")
    models = json.loads((folder / "latency.json").read_text())["models"]
    # Of a layer's 256 bytes a rank keeps half; the draft leaves one of four layers out.
    assert models["target"]["kv_bytes_per_token"] == 512
    assert models["draft"]["kv_bytes_per_token"] == 768


@pytest.mark.slow
def test_random_weights_of_a_shape_fetch_nothing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The architecture alone decides; the engine that is asked for runs it."""
    from flybench.engine.loading import shapes

    tiny = shapes.SHAPES["smollm2-135m"] | {"num_hidden_layers": 1, "vocab_size": 300}
    monkeypatch.setitem(shapes.SHAPES, "tiny", tiny)
    target = ["model.target.path=org/nowhere", "model.target.shape=tiny"]
    draft = ["model.draft.path=nowhere", "model.draft.shape=tiny"]
    random = ["weights=random", "engine=graph"]
    assert main(["latency", *target, "method=lookup", *random]) == 0
    printed = capfd.readouterr().out
    assert "engine graph, random weights" in printed
    assert "target: tiny, float32" in printed
    assert "draft:" not in printed
    assert main(["latency", *target, *draft, "method=spd", "method.k=2", *random]) == 0
    assert "draft: tiny, float32" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["weights=rndom"], "did you mean random"),
        (["model=randm"], "did you mean random"),
        (["random"], "only allowed with --acceptance"),
        (["model=random", "model.target.shape=llama-8", "weights=random"], "did you mean llama-8b"),
        (["model=random", "engine.dtype=int8"], "fp32, bf16"),
        (["model=random", "engine.tp=2"], "torchrun --nproc-per-node=2"),
        (["model=random", "model.eagle3=x", "method=eagle3"], "method=eagle3 cannot be timed"),
        (["--acceptance"], "--help"),
        (["--acceptance", "nowhere"], "not a run folder"),
        (["--acceptance", "nowhere", "--froce"], "--help"),
    ],
)
def test_mistakes_are_one_sentence(
    capfd: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["latency", *arguments]) == 2
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert said in line
    assert line.endswith(".")


@pytest.mark.slow
def test_the_measurement_needs_no_configuration_and_no_tables() -> None:
    code = (
        "import sys, flybench.analysis.latency.measure\nimport flybench.analysis.latency.pair\n"
        "assert not {'hydra', 'lm_eval', 'pandas', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
