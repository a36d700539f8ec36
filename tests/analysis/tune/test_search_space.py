"""The grid of a tuning, and what cannot be tuned."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from flybench.analysis.tune.search_space import EXACT, TuneSettings, describe_method
from flybench.cli.main import main
from flybench.config import MethodConfig, VerifyConfig
from flybench.config.compose import cells, parse_request
from flybench.core.errors import FlybenchError
from tests.helpers.toys import assert_one_sentence

SMALL = TuneSettings(rule=("official",), theta=(0.1, 0.3), window=(2, 6), k=(4, 8))


def base(method: str) -> MethodConfig:
    (config,) = cells(parse_request(["model=random", f"method={method}"]))
    return config.method


def test_the_grid_has_every_loose_setting_that_fits_and_the_exact_ones() -> None:
    grid = SMALL.grid(base("fly"))
    assert len(grid) == len(set(grid)) == 2 * (2 + 2 * (1 + 2))
    assert {method.name for method in grid} == {"spd", "spd_lookup", "fly", "fly_no_lookup"}
    assert all(method.k > method.verify["window"] for method in grid if method.verify != EXACT)
    assert {method.draft.get("ngram_max", 4) for method in grid} == {4}  # of method=fly


def test_a_drafter_without_a_model_is_not_sped_up() -> None:
    assert [method.name for method in SMALL.drafters(base("lookup"))] == ["lookup"]
    assert [method.name for method in SMALL.drafters(base("spd"))] == ["spd", "spd_lookup"]
    assert {method.name for method in SMALL.grid(base("lookup"))} == {"lookup", "fly_lookup"}


def test_a_method_says_its_rule() -> None:
    verify = VerifyConfig.of("fly", rule="vllm", theta=0.3, window=2)
    assert describe_method(MethodConfig("fly", 8, base("fly").draft, verify)) == (
        "fly (vllm rule, k=8 theta=0.3 window=2)"
    )


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["method=eagle3"], ("eagle3", "method=fly")),
        (["method=ar"], ("ar", "method=fly")),
        (["sampling=t1"], ("sampling.temperature=1", "greedy")),
        (["engine.tp=2"], ("engine.tp=2",)),
        (["-m", "method=fly,spd"], ("2 runs", "tune.NAME")),
        (["tune.thta=1"], ("tune.thta", "theta")),
        (["tune.theta=x"], ("tune.theta",)),
        (["tune.theta=-1"], ("theta=-1",)),
        (["tune.k=4", "tune.window=4,8"], ("tune.k=4", "tune.window=4,8")),
        (["tune.looks=0"], ("tune.looks=0",)),
        (["tune.looks=1100"], ("tune.looks=1100", "1 to 10")),
        (["method.k=3"], ("method.k", "tune.k")),
        (["method.verify.theta=0.2"], ("method.verify.theta", "tune.theta")),
        (["limit=7"], ("7 samples",)),
        (
            ["task=mt_bench", "task.path=question.jsonl"],
            ("task=mt_bench with judge=none", "judge=local"),
        ),
        (["latency=nowhere", "limit=20"], ("nowhere", "flybench latency")),
    ],
)
def test_what_cannot_be_tuned_is_refused_before_anything_runs(
    arguments: Sequence[str],
    parts: Sequence[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("flybench.analysis.tune.prepare.measured", None)
    rows = ({"question_id": n, "category": "math", "turns": ["1?", "2?"]} for n in range(20))
    Path("question.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = [] if "method=eagle3" in arguments else ["model=random"]
    assert main(["tune", *model, *arguments]) == 2
    assert_one_sentence(FlybenchError(capsys.readouterr().err.strip().splitlines()[-1]), *parts)
    assert not (tmp_path / "results").exists()
