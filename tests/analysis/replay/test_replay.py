"""Replays: the recorded setting exactly, other settings nearly, and what cannot be replayed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flybench.analysis.replay.against import against
from flybench.analysis.replay.cells import grid
from flybench.analysis.replay.drafts import ImputedRows
from flybench.analysis.replay.grid import recorded_config, replay
from flybench.analysis.replay.traced_rows import read_rows
from flybench.analysis.replay.walk import walk
from flybench.cli.main import main
from flybench.config import EXACT, MethodConfig, RunConfig, VerifyConfig
from flybench.config.compose import cells, parse_request
from flybench.core.errors import FlybenchError
from flybench.core.outcomes import OUTCOME_CODES
from flybench.metrics.frames import round_frame
from flybench.records.folder import RunFolder
from flybench.run.plan import make_plan
from flybench.run.sweep import Sweep
from tests.helpers import toys
from tests.helpers.lanes import fast_only
from tests.helpers.toys import assert_one_sentence

MODEL = ["model.target.path=random:llama:1", "model.draft.path=random:llama:1"]
SMALL = [*MODEL, "task.path=demo.jsonl", "task.max_new_tokens=40", "warmup=0"]
TRACED = "record.traces=true"
FLY = ["method=fly", "method.k=8", "method.verify.window=2"]
RECORDED = {
    "exact": ["method=spd", "method.k=8"],
    "official": FLY,
    "paper": [*FLY, "method.verify.rule=paper", "method.verify.theta=0.05"],
    "vllm": [*FLY, "method.verify.rule=vllm"],
    "gate only": [*FLY, "method.verify.window=0", "method.verify.theta=0.6"],
    "lookup": ["method=lookup", "method.k=6"],
    "graph": [*FLY, "engine=graph"],
}


@pytest.fixture(scope="module", autouse=True)
def data(tmp_path_factory: pytest.TempPathFactory) -> object:
    """A draft that is right now and then, and a task of two turns."""
    folder = tmp_path_factory.mktemp("replay")
    rows = [
        {"id": f"n{n}", "category": "math", "kind": "open", "turns": turns, "reference": {}}
        for n, turns in enumerate([["1 2 1 2?"], ["the cat sat.", "and then?"], ["on the mat"]])
    ]
    (folder / "demo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    near = toys.near_model("llama:1")
    near.save_pretrained(folder / "near")
    toys.byte_tokenizer().save_pretrained(folder / "near")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setitem(globals(), "SMALL", [*SMALL, "model.draft.path=near"])
        yield


def run(*settings: str) -> RunFolder:
    """The folder of a finished run."""
    (config,) = cells(parse_request([*SMALL, *settings]))
    assert Sweep([config], []).run(config) == 0
    return make_plan(config).folder


def rounds_of(folder: RunFolder, method: MethodConfig) -> list[tuple[int, int, int, int, str]]:
    """Every round as replayed: drafted, accepted, loose, emitted, fates."""
    config = recorded_config(folder)
    imputed_rows = ImputedRows(read_rows(folder, config.method.name, config.method.k, None))
    found = walk(imputed_rows, imputed_rows.drafts(method.k), method)
    assert not found.imputed.any() or method != config.method
    outcomes = ["".join(OUTCOME_CODES[outcome] for outcome in row) for row in found.outcomes]
    counts = zip(found.drafted, found.accepted, found.loose, found.emitted, strict=True)
    return [
        (*map(int, count), outcome[: count[0]])
        for count, outcome in zip(counts, outcomes, strict=True)
    ]


def recorded_rounds(folder: RunFolder, method: str) -> list[tuple[int, int, int, int, str]]:
    frame = round_frame(folder, method)
    return list(
        frame[["drafted", "accepted", "loose", "emitted", "outcomes"]].itertuples(
            index=False, name=None
        )
    )


@pytest.mark.parametrize("settings", fast_only(RECORDED, "official", "lookup"))
def test_the_recorded_setting_gives_the_recorded_rounds(settings: Sequence[str]) -> None:
    folder = run(*settings, TRACED)
    method = recorded_config(folder).method
    rounds = recorded_rounds(folder, method.name)
    assert len({outcomes for *_, outcomes in rounds}) > 1
    assert rounds_of(folder, method) == rounds
    table = replay([folder], [method])
    assert table["tau"].item() == sum(r[3] for r in rounds) / len(rounds)
    assert table["strayed"].item() == 0


def test_a_shorter_exact_draft_is_replayed_exactly_as_far_as_it_was_recorded() -> None:
    """Whatever is not guessed is what a real run does."""
    folder, short = run(*RECORDED["exact"], TRACED), run("method=spd", "method.k=2")
    table = against([folder], [short])
    assert table["n"].item() == 3
    assert abs(table["error"].item()) < 0.02
    assert table["guessed"].item() < 0.05


def test_fewer_conditions_never_accept_less() -> None:
    folder = run(*RECORDED["exact"], TRACED)
    method = recorded_config(folder).method
    verify = [VerifyConfig.of("fly", theta=theta, window=2) for theta in (0.0, 0.3, 0.8, np.inf)]
    table = replay([folder], [replace(method, verify=each) for each in verify])
    assert table["loose_per_1000"].is_monotonic_decreasing
    assert table["loose_per_1000"].iloc[0] > 0
    exact = replay([folder], [method])
    assert table["tau"].iloc[-1] == exact["tau"].item()
    assert table["fate_gate"].iloc[-1] == exact["fate_rejected"].item()


def test_half_of_the_samples_can_be_replayed_alone() -> None:
    folder = run(*RECORDED["official"], TRACED)
    method = recorded_config(folder).method
    halves = [replay([folder], [method], samples=part) for part in ({"n0"}, {"n1", "n2"})]
    whole = replay([folder], [method])
    assert sum(half["rounds"].item() for half in halves) == whole["rounds"].item()


@pytest.mark.slow
def test_a_run_without_traces_is_refused_and_can_be_continued_with_them() -> None:
    settings = [*FLY, "seed=7"]
    folder = run(*settings)
    with pytest.raises(FlybenchError) as error:
        replay([folder], [recorded_config(folder).method])
    assert_one_sentence(error.value, "record.traces=true")
    before = recorded_rounds(folder, "fly")
    assert run(*settings, TRACED).path == folder.path
    assert rounds_of(folder, recorded_config(folder).method) == before


@pytest.mark.slow
def test_traces_without_a_record_are_not_read_and_lost_ones_are_made_again() -> None:
    settings = [*FLY, "seed=8", TRACED]
    folder = run(*settings)
    records = folder.records_file.read_text().splitlines(keepends=True)
    folder.records_file.write_text("".join(records[:3]) + records[3][:50])  # as a kill leaves it
    parts = sorted((folder.path / "traces").iterdir())
    parts[0].with_name("0123.partial").write_bytes(b"half")
    method = recorded_config(folder).method
    assert rounds_of(folder, method) == recorded_rounds(folder, "fly")
    run(*settings)
    assert len(recorded_rounds(folder, "fly")) > 0
    assert rounds_of(folder, method) == recorded_rounds(folder, "fly")
    parts[0].write_bytes(parts[0].read_bytes()[:200])
    with pytest.raises(FlybenchError) as error:
        replay([folder], [method])
    assert_one_sentence(error.value, str(parts[0]), "damaged")
    parts[0].unlink()
    run(*settings)
    assert rounds_of(folder, method) == recorded_rounds(folder, "fly")


def test_a_tree_keeps_no_traces() -> None:
    tree = [*SMALL, "method=eagle3", "model.eagle3=head", TRACED]
    with pytest.raises(FlybenchError) as error:
        cells(parse_request(tree))
    assert_one_sentence(error.value, "record.traces=true", "tree_depth")


def test_traces_do_not_move_a_run() -> None:
    plain, traced = (cells(parse_request([*SMALL, *more]))[0] for more in ([], [TRACED]))
    assert isinstance(plain, RunConfig) and plain.identity() == traced.identity()


def test_a_grid_is_every_combination_whose_window_fits() -> None:
    recorded = MethodConfig("spd", 8, cells(parse_request(SMALL))[0].method.draft)
    settings = ["method.verify.theta=0.1,inf", "method.verify.window=2,6", "method.k=4,8"]
    found, left_out = grid(recorded, settings)
    assert left_out == 2
    assert [(c.verify["theta"], c.verify["window"], c.k) for c in found] == [
        *((0.1, 2, 4), (0.1, 2, 8), (0.1, 6, 8)),
        *((np.inf, 2, 4), (np.inf, 2, 8), (np.inf, 6, 8)),
    ]
    assert {c.verify.kind for c in found} == {"fly"}
    assert [c.k for c in grid(recorded, ["method.k=2,3"])[0]] == [2, 3]
    assert grid(recorded, [])[0][0].verify == EXACT


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("method.verify.thta=1", "method.verify.theta"),
        ("method.draft.kind=model", "method.k"),
        ("method.verify.theta=-1", "method.verify.theta=-1"),
        ("method.k=none", "method.k"),
        ("method.k=[", "key=value"),
    ],
)
def test_a_wrong_setting_is_refused(setting: str, told: str) -> None:
    with pytest.raises(FlybenchError) as error:
        grid(MethodConfig("lookup", 8, cells(parse_request(SMALL))[0].method.draft), [setting])
    assert_one_sentence(error.value, told)


@pytest.mark.slow
def test_runs_that_differ_in_more_than_their_verdicts_are_refused() -> None:
    folder = run(*RECORDED["exact"], TRACED)
    with pytest.raises(FlybenchError) as error:
        against([folder], [run(*RECORDED["exact"], "seed=9")])
    assert_one_sentence(error.value, "seed")
    with pytest.raises(FlybenchError) as error:
        against([folder], [run(*RECORDED["lookup"])])
    assert_one_sentence(error.value, "method.draft")


def test_the_command_prints_estimates_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    folder, real = run(*RECORDED["exact"], TRACED), run(*RECORDED["official"])
    capsys.readouterr()
    theta = "method.verify.theta=0.1,0.3"
    assert main(["replay", str(folder.path), theta, "method.verify.window=2,9"]) == 0
    out = capsys.readouterr().out
    assert "Estimates" in out and "2 combinations were skipped" in out
    beside = ["--against", str(real.path), "--csv", "errors.csv"]
    assert main(["replay", str(folder.path), *beside]) == 0
    assert "Median error over 1 runs" in capsys.readouterr().out
    assert pd.read_csv("errors.csv")["run"].tolist() == [real.path.name]
    assert main(["replay", str(folder.path), "--against", str(folder.path)]) == 2
    assert main(["replay", str(Path("nowhere"))]) == 2


@pytest.mark.slow
def test_a_second_recording_is_blended_in_and_must_be_alike(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exact, loose = run(*RECORDED["exact"], TRACED), run(*RECORDED["official"], TRACED)
    own = recorded_config(loose).method
    both = replay([exact, loose], [own])
    assert both["tau"].item() == replay([loose], [own])["tau"].item()
    capsys.readouterr()
    assert main(["replay", str(exact.path), str(loose.path), "method.verify.theta=0.2"]) == 0
    other = run(*RECORDED["exact"], "seed=9", TRACED)
    assert main(["replay", str(exact.path), str(other.path)]) == 2
    assert "seed" in capsys.readouterr().err


def test_recordings_without_a_common_sample_and_lost_folders_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = run(*RECORDED["exact"], TRACED, "limit=1", "out=one")
    other = run(*RECORDED["official"], TRACED, "offset=1", "limit=1", "out=two")
    for arguments, said in (
        ([first.path, other.path], "no finished samples in common"),
        ([first.path, "--csv", "nowhere/table.csv"], "create it first"),
    ):
        assert main(["replay", *map(str, arguments)]) == 2
        assert_one_sentence(FlybenchError(capsys.readouterr().err.strip().split("\n")[-1]), said)
