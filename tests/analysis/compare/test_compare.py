"""`flybench compare` as CI meets it: what it prints, refuses, and exits with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flybench.cli.main import main
from flybench.records.folder import RunFolder
from tests.helpers.synthetic import PROVENANCE, write_run

N = 60


@pytest.fixture
def base(tmp_path: Path) -> RunFolder:
    return write_run(tmp_path / "base", N, speed=2.0)


def compared(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["compare", *map(str, arguments)])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_a_faster_run_is_told_and_passes(
    base: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_run(tmp_path / "other", N, speed=3.0)
    code, said, _ = compared(capsys, base.path, other.path, "--min-speedup", 1.2)
    assert code == 0
    assert "60 shared samples: sums, tiny" in said
    assert "--min-speedup 1.2: HOLDS" in said
    assert "60 of 60 answers have equal ids" in said
    assert "Right in both: 48; only in A: 0; only in B: 0; in neither: 12" in said
    assert max(map(len, said.splitlines()[2:])) <= 80


def test_each_side_has_its_own_figure_in_the_table(
    base: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in the JSON, and both of the right run."""
    other = write_run(tmp_path / "other", N, speed=3.0, lose=range(6))
    kept = tmp_path / "found.json"
    _, said, _ = compared(capsys, base.path, other.path, "--json", kept)
    figures = json.loads(kept.read_text())["figures"]
    assert {"seconds to answer", "tokens/s", "tau, tokens a round"} <= figures.keys()
    for name, figure in figures.items():
        (line,) = (line for line in said.splitlines() if line.startswith(name))
        assert line.removeprefix(name).split()[:2] == [f"{figure[side]:.4g}" for side in "ab"]
    assert figures["tokens/s"]["a"] < figures["tokens/s"]["b"]
    assert figures["seconds to answer"]["a"] > figures["seconds to answer"]["b"]


def test_a_slower_run_breaks_the_gate(
    base: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_run(tmp_path / "other", N, speed=3.0)
    code, said, _ = compared(capsys, other.path, base.path, "--min-speedup", 1)
    assert code == 1
    assert "--min-speedup 1: BROKEN" in said


def test_what_the_data_cannot_show_does_not_pass(
    base: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_run(tmp_path / "other", N, speed=2.0, lose=[1])
    gates = ("--max-retention-loss", 0.01, "--min-speedup", 0.9)
    code, said, _ = compared(capsys, base.path, other.path, *gates)
    assert code == 3
    assert "--max-retention-loss 0.01: NOT RESOLVED" in said
    assert "n ≥" in said
    assert "--min-speedup 0.9: HOLDS" in said


def test_gates_are_asked_for(base: RunFolder, tmp_path: Path, capsys: Any) -> None:
    lost = write_run(tmp_path / "lost", N, lose=range(30))
    assert compared(capsys, base.path, lost.path)[0] == 0
    assert compared(capsys, base.path, lost.path, "--max-retention-loss", 0.1)[0] == 1


def test_settings_that_differ_are_named(base: RunFolder, tmp_path: Path, capsys: Any) -> None:
    method = {"name": "fly", "k": 8, "verify": {"kind": "fly", "theta": 0.5}}
    other = write_run(tmp_path / "other", N, method_config=method)
    _, said, _ = compared(capsys, base.path, other.path)
    assert "method.verify.theta  0.3  0.5" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task": "products"}, "tasks differ (A: sums; B: products)"),
        ({"data_sha256": "b"}, "data differ"),
        ({"sampling": {"temperature": 1.0}}, "samplings differ"),
        ({"task_config": {"max_new_tokens": 10}}, "answer length limits"),
        ({"models": {"target": {"files": {"x.gguf": "other"}}}}, "target models' weights differ"),
        (
            {"models": {"target": {"files": {"x": "w"}, "quantize": "int8"}}},
            "target models' weights differ",
        ),
    ],
)
def test_unlike_runs_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], said: str
) -> None:
    known = {"data_sha256": "a", "models": {"target": {"files": {"x": "w"}}}}
    ours = write_run(tmp_path / "ours", 5, **known)
    theirs = write_run(tmp_path / "theirs", 5, **{**known, **change})
    code, out, err = compared(capsys, ours.path, theirs.path)
    assert (code, out) == (2, "")
    assert said in err and err.count("\n") == 1


def test_the_same_folder_twice(base: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert "are the same folder" in compared(capsys, base.path, base.path)[2]


def test_no_shared_sample(base: RunFolder, tmp_path: Path, capsys: Any) -> None:
    other = write_run(tmp_path / "other", ids=["x", "y"], n=2)
    code, _, err = compared(capsys, base.path, other.path)
    assert code == 2
    assert "no finished samples in common" in err and "'x' to 'y'" in err


def test_other_prompts_under_the_same_names(base: RunFolder, tmp_path: Path, capsys: Any) -> None:
    other = write_run(tmp_path / "other", N)
    text = other.records_file.read_text().replace("0" * 64, "1" * 64)
    other.records_file.write_text(text)
    code, _, err = compared(capsys, base.path, other.path)
    assert code == 2
    assert "shared samples, e.g. 'sums/000'" in err


def test_times_of_another_device_are_left_out(base: RunFolder, tmp_path: Path, capsys: Any) -> None:
    other = write_run(tmp_path / "other", N, speed=3.0, device="a card")
    code, said, _ = compared(capsys, base.path, other.path)
    assert code == 0
    assert "Times are not compared, because their devices differ (A: CPU; B: a card)" in said
    assert "seconds to answer" not in said and "right answers" in said
    code, _, err = compared(capsys, base.path, other.path, "--min-speedup", 1)
    assert code == 2
    assert "--across-machines" in err
    asked = ("--min-speedup", 1.2, "--across-machines")
    code, said, _ = compared(capsys, base.path, other.path, *asked)
    assert code == 0
    said = " ".join(said.split())
    assert "Compare methods by their speed-ups over AR" in said
    assert "speed-up over AR, to answer (B ÷ A)" in said


def test_another_processor_is_another_machine(base: RunFolder, tmp_path: Path, capsys: Any) -> None:
    (invocation,) = PROVENANCE["invocations"]
    elsewhere = {**invocation, "environment": {**invocation["environment"], "cpu": "another"}}
    other = write_run(tmp_path / "other", N, invocations=[elsewhere])
    assert "their machines differ" in compared(capsys, base.path, other.path)[1]


def test_without_scores_speed_is_compared(base: RunFolder, tmp_path: Path, capsys: Any) -> None:
    other = write_run(tmp_path / "other", N, scored=False)
    code, said, _ = compared(capsys, base.path, other.path)
    assert code == 0
    assert "B has no scores; `flybench score" in " ".join(said.split())
    code, _, err = compared(capsys, base.path, other.path, "--max-retention-loss", 0.01)
    assert code == 2
    assert "flybench score" in err


def test_failed_samples_do_not_pass_silently(base: RunFolder, tmp_path: Path, capsys: Any) -> None:
    other = write_run(tmp_path / "other", N, speed=3.0)
    lines = [json.loads(line) for line in other.records_file.read_text().splitlines()]
    lines[1] |= {"turns": [], "error": "OutOfMemoryError"}
    other.records_file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, said, _ = compared(capsys, base.path, other.path, "--min-speedup", 1)
    assert code == 3
    assert "1 samples that A finished failed in B" in " ".join(said.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--min-speedup", "0"), "use a number above 0"),
        (("--max-retention-loss", "2"), "use a number between 0 and 1"),
        (("--json", "nowhere/x.json"), "create it first"),
        (("--min-speedup", "fast"), "invalid float value"),
    ],
)
def test_slips_of_the_pen(
    base: RunFolder, tmp_path: Path, capsys: Any, arguments: tuple[str, str], said: str
) -> None:
    other = write_run(tmp_path / "other", 3)
    code, _, err = compared(capsys, base.path, other.path, *arguments)
    assert code == 2 and said in err


def test_json_says_the_same(base: RunFolder, tmp_path: Path, capsys: Any) -> None:
    other = write_run(tmp_path / "other", N, speed=3.0)
    file = tmp_path / "found.json"
    compared(capsys, base.path, other.path, "--json", file, "--min-speedup", 1)
    found = json.loads(file.read_text())
    assert found["shared"] == N
    assert found["gates"][0]["state"] == "holds"
    low, high = found["figures"]["seconds to answer"]["interval"]
    assert 1.2 < low <= found["figures"]["seconds to answer"]["ratio"] <= high < 1.8


def test_hostile_words_do_not_reach_the_terminal(tmp_path: Path, capsys: Any) -> None:
    evil = "fly\x1b[2J\u202e"
    runs = [write_run(tmp_path / name, 4, method=evil, warnings=[evil]) for name in "ab"]
    for run in runs:
        run.write("config.yaml", "model: tiny\n")
    _, said, _ = compared(capsys, *(run.path for run in runs))
    assert "\x1b" not in said and "\u202e" not in said
    assert "⟨U+001B⟩" in said


def test_runs_of_two_heads_differ_in_their_weights(
    base: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heads = (
        {"path": name, "files": {"model.safetensors": digit * 64}}
        for name, digit in (("old", "1"), ("new", "2"))
    )
    paths = [
        write_run(tmp_path / f"{n}", N, models=PROVENANCE["models"] | {"head": head}).path
        for n, head in enumerate(heads)
    ]
    said = compared(capsys, *paths)[1]
    assert "head.path" in said
    assert "11111111" in said
