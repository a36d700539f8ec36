"""Presets of sweeps: the paper's tables cell by cell, a user's own, and overrides on top."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from flybench.analysis.dry_run import TITLES
from flybench.cli.main import main
from flybench.config import RunConfig
from flybench.config.compose import parse_request
from flybench.config.experiments import distinct, expand
from flybench.config.groups import files
from tests.helpers.toys import assert_one_sentence

OOD = (
    "acp_prog_gen",
    "niah_multivalue",
    *(f"mgsm_native_cot_{name}" for name in ("de", "fr", "th")),
)
ID = ("gsm8k_cot_llama", "humaneval_instruct", "mbpp_plus")
# Model, method, K, θ and W, or of a tree its depth and width: what the paper's rows and points are.
ROWS = [
    ("llama70b", "spd", 15, None, None),
    ("llama70b", "fly", 15, 0.3, 6),
    ("llama33_70b", "fly", 15, 0.3, 6),
    ("llama33_70b", "eagle3", 47, 6, 10),
    ("llama405b", "fly", 25, 0.3, 6),
]
POINTS = [
    *(("llama70b", "fly", 15, 0.3, window) for window in (0, 4, 6, 8)),
    *(("llama70b", "fly", 15, theta, 6) for theta in (0.0, 1.0)),
    ("llama70b", "fly", 25, 0.3, 6),
    ("llama70b", "fly_no_lookup", 15, 0.3, 6),
    ("llama70b_1b", "fly", 15, 0.3, 6),
]
TABLES = {
    "paper_ood": [(*row, task) for row in ROWS for task in OOD],
    "paper_id": [(*row, task) for row in ROWS for task in ID],
    "paper_ablation": [(*point, "humaneval_instruct") for point in POINTS],
}
PATHS = {
    "llama70b": ("Llama-3.1-70B-Instruct", "Llama-3.1-8B-Instruct"),
    "llama70b_1b": ("Llama-3.1-70B-Instruct", "Llama-3.2-1B-Instruct"),
    "llama33_70b": ("Llama-3.3-70B-Instruct", "Llama-3.1-8B-Instruct"),
    "llama405b": ("Llama-3.1-405B-Instruct", "Llama-3.1-8B-Instruct"),
}


def composed(*arguments: str) -> list[RunConfig]:
    return [cell.config for cell in distinct(expand(parse_request(["-m", *arguments])))]


def told(config: RunConfig) -> tuple[object, ...]:
    method = config.method
    numbers: tuple[object, object] = (None, None)
    if method.verify.kind == "fly":
        numbers = (method.verify["theta"], method.verify["window"])
    elif method.needs_head:
        numbers = (method.draft["tree_depth"], method.draft["tree_top_k"])
    return (config.model.name, method.name, method.k, *numbers, config.task.name)


@pytest.mark.parametrize("name", TABLES)
def test_presets_are_the_papers_tables(name: str) -> None:
    configs = composed(f"experiment={name}")
    assert Counter(map(told, configs)) == Counter(TABLES[name])
    for config in configs:
        target, draft = PATHS[config.model.name]
        assert config.model.draft is not None
        assert config.model.target.path == f"meta-llama/{target}"
        assert config.model.draft.path == f"meta-llama/{draft}"
        assert config.method.verify.tree()["rule"] == "official"
        assert config.task.max_new_tokens == 1024
        assert config.sampling.rule().greedy
        nested = config.method.draft
        if config.method.name == "fly":  # its draft model looks up 6 tokens after 4 to 1
            assert (nested.kind, nested["ngram_max"], nested["ngram_min"]) == ("nested", 4, 1)
            assert nested["lookup_tokens"] == 6


def test_every_preset_is_checked() -> None:
    assert set(TABLES) == {file.stem for file in files("experiment")}


@pytest.mark.slow
def test_a_group_on_top_replaces_what_a_sweep_says_of_it() -> None:
    given = ["experiment=paper_ablation", "model=random", "task=demo", "limit=2"]
    configs = composed(*given)
    # The 8B and the 1B draft have become one pair.
    assert len(configs) == len(POINTS) - 1
    assert {(c.model.name, c.task.name, c.limit) for c in configs} == {("random", "demo", 2)}
    assert {told(config)[1:5] for config in configs} == {point[1:] for point in POINTS}
    assert {c.method.k for c in composed(*given, "method.k=9,11")} == {9, 11}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A user's preset of two sweeps that cross, and the arguments that run it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own" / "experiment").mkdir(parents=True)
    (tmp_path / "own" / "experiment" / "cross.yaml").write_text(
        "description: two lines that cross\nsweeps:\n"
        "  - {model: random, method: lookup, method.k: '2,4'}\n"
        "  - {model: random, method: 'lookup,spd', method.k: 4}\n"
    )
    (tmp_path / "own" / "experiment" / "empty.yaml").write_text("description: none\n")
    return ["--config-dir", "own", "experiment=cross", "limit=1", "task.max_new_tokens=6"]


def test_a_dry_run_shows_what_a_run_does(own: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-m", *own, "--dry-run"]) == 0
    title, *lines, count, unknown = capfd.readouterr().out.splitlines()
    assert re.split(r"  +", title) == list(TITLES)
    assert count.startswith("3 runs; time to decode: unknown; weights and caches of the largest: ")
    assert unknown.startswith("  unknown: no measurement found")
    assert not Path("results").exists()
    assert main(["run", "-m", *own]) == 0
    made = {str(path) for path in Path("results").glob("random-*")}
    assert {line.split()[-1] for line in lines} == made
    assert capfd.readouterr().out.count("Report: ") == 3
    assert main(["run", "-m", *own, "--dry-run"]) == 0
    again = capfd.readouterr().out
    assert again.count("1 of 1") == again.count("00:00  nothing left") == 3
    assert main(["list", "experiments", "--config-dir", "own"]) == 0
    assert "two lines that cross" in capfd.readouterr().out


def test_a_dry_run_says_what_cannot_run_here(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-m", "model=llama405b", "method=fly,fly_paper", "--dry-run"]) == 0
    _, first, second, reason, _ = capfd.readouterr().out.splitlines()
    for line in (first, second):
        assert "812 + 16.1 GB  ? GB" in line
        assert line.endswith("cannot run here [1]")
    assert reason.startswith(
        "  cannot run here [1]: model llama405b needs 12 GPU(s) with 80 GB each"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["experiment=paper_ood"], "add -m"),
        (["-m", "experiment=paper_odd"], "did you mean paper_ood"),
        (["-m", "--config-dir", "own", "experiment=empty"], "has no sweeps"),
        (["-m", "experiment=paper_id", "method.k=1"], "at least 7"),
    ],
)
def test_mistakes_are_one_sentence(
    own: list[str], capfd: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["run", *arguments]) == 2
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert_one_sentence(RuntimeError(line), said)
