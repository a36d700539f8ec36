"""Sweeps: models load once, one AR serves every method beside it, a cell's error is its own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from flybench.cli.main import main
from flybench.config import ModelRef, RunConfig
from flybench.config.compose import cells, parse_request
from flybench.core.samples import Record
from flybench.engine.loading import description
from flybench.records.folder import RunFolder
from flybench.run import session as session_module
from flybench.run.plan import Plan, make_plans
from flybench.run.sweep import Sweep

ITEMS = 4
SMALL = ["model=random", "task.path=demo.jsonl", "task.max_new_tokens=8"]
SWEPT = ["-m", *SMALL, "method=spd,lookup,fly", "method.k=7"]

pytestmark = pytest.mark.usefixtures("log_on_stderr")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"n{n}", "category": "math", "kind": "open", "turns": [f"{n}?"], "reference": {}}
        for n in range(ITEMS)
    ]
    Path("demo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths that pairs were loaded for."""
    found: list[int] = []
    load = session_module.load_pair

    def counting(*given: Any) -> Any:
        found.append(given[4])
        return load(*given)

    monkeypatch.setattr(session_module, "load_pair", counting)
    return found


def folder(method: str, task: str = "demo") -> RunFolder:
    (path,) = Path("results").glob(f"random-{method}-{task}-*")
    return RunFolder(path)


def plan_of(sweep: Sweep, config: RunConfig) -> Plan:
    number = sweep._index(config)
    plan = sweep._plans[number]
    assert isinstance(plan, Plan)
    return plan


def baseline(method: str) -> dict[str, Record]:
    records = folder(method).records()
    return {sample: record for (sample, name), record in records.items() if name == "ar"}


def test_models_are_read_once_for_all_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    locate = description.locate

    def counting(ref: ModelRef) -> Any:
        read.append(ref.path)
        return locate(ref)

    monkeypatch.setattr(description, "locate", counting)
    plans = make_plans(cells(parse_request(SWEPT)))
    assert [type(plan) for plan in plans] == [Plan, Plan, Plan]
    models = plans[0].config.model  # type: ignore[union-attr]
    assert models.draft is not None
    # A draft is looked at once more, for whether it borrows from its target.
    assert read == [models.target.path, models.draft.path, models.draft.path]


@pytest.mark.slow
def test_methods_of_one_pair_share_their_baseline(loads: list[int]) -> None:
    assert main(["run", *SWEPT]) == 0
    assert len(loads) == 1  # lookup wants no draft model, and is not disturbed by one
    assert baseline("spd") == baseline("lookup") == baseline("fly")
    for method in ("spd", "lookup", "fly"):
        assert len(folder(method).records()) == 2 * ITEMS
        assert [row["method"] for row in folder(method).read_json("summary.json")] == ["ar", method]
        assert len(folder(method).read_json("provenance.json")["invocations"]) == 1


def test_what_wants_no_drafter_runs_beside_what_does(loads: list[int]) -> None:
    assert main(["run", "-m", *SMALL, "method=lookup,spd", "method.k=7"]) == 0
    assert len(loads) == 1
    drafts = {
        method: folder(method).provenance()["invocations"][0]["costs"]["draft"]
        for method in ("lookup", "spd")
    }
    assert drafts["lookup"] is None
    assert drafts["spd"] is not None


@pytest.mark.slow
def test_the_order_goes_there_and_back(loads: list[int]) -> None:
    main(["run", *SWEPT])
    found = {}
    for method in ("spd", "lookup", "fly"):
        found |= folder(method).records()
    order = {(key, record.position) for key, record in found.items()}
    for number in range(ITEMS):
        names = ("ar", "spd", "lookup", "fly")[:: -1 if number % 2 else 1]
        assert {((f"n{number}", name), place) for place, name in enumerate(names)} <= order


@pytest.mark.slow
def test_side_by_side_or_alone_the_tokens_are_the_same(loads: list[int]) -> None:
    main(["run", *SWEPT])
    together = {key: record.turns[0].ids for key, record in folder("fly").records().items()}
    main(["run", *SMALL, "method=fly", "method.k=7", "out=alone"])
    (path,) = Path("alone").glob("random-fly-*")
    alone = RunFolder(path).records()
    assert together == {key: record.turns[0].ids for key, record in alone.items()}


@pytest.mark.slow
def test_a_repeated_baseline_is_decoded_once_for_all_beside_it(loads: list[int]) -> None:
    assert main(["run", *SWEPT, "limit=2", "baseline.repeat=2"]) == 0
    spd, fly = (folder(method).records() for method in ("spd", "fly"))
    for sample in ("n0", "n1"):
        assert spd[sample, "ar_again"] == fly[sample, "ar_again"]
    assert {record.position for record in [*spd.values(), *fly.values()]} == set(range(5))


@pytest.mark.slow
def test_a_finished_method_is_not_decoded_again_beside_others(loads: list[int]) -> None:
    main(["run", *SMALL, "method=spd", "method.k=7", "limit=3"])
    before = folder("spd").records()
    assert main(["run", *SWEPT, "limit=3"]) == 0
    assert folder("spd").records() == before
    assert len(folder("fly").records()) == 6
    loads.clear()
    assert main(["run", *SWEPT, "limit=3"]) == 0
    assert loads == []


@pytest.mark.slow
def test_tasks_of_a_sweep_share_a_pair_with_room_for_the_longest(loads: list[int]) -> None:
    arguments = ["-m", *SMALL[:2], "method=spd", "method.k=7", "task.max_new_tokens=8,40"]
    assert main(["run", *arguments]) == 0
    assert len(loads) == 1
    longest = max(
        record.turns[0].prompt_tokens
        for path in Path("results").glob("random-spd-*")
        for record in RunFolder(path).records().values()
    )
    assert loads[0] > longest + 40


def test_a_cell_that_fails_leaves_the_others_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """The draft's context is too short for one of the two."""
    arguments = ["-m", *SMALL[:2], "task.max_new_tokens=16", "method=spd", "method.k=7,9000"]
    assert main(["run", *arguments]) == 2
    assert "9000" in capsys.readouterr().err
    assert len(folder("spd").records()) == 2 * ITEMS


@pytest.mark.slow
def test_a_folder_that_another_process_holds_is_left_to_it(
    loads: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    configs = cells(parse_request(SWEPT))
    sweep = Sweep(configs, ["flybench", "run"])
    held = plan_of(sweep, configs[2]).folder
    with held.exclusive():
        assert [sweep.run(config) for config in configs] == [0, 0, 2]
    assert "another process" in capsys.readouterr().err
    assert held.records() == {}
    assert sweep.run(configs[2]) == 0


def test_a_failed_load_is_told_by_every_cell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*given: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(session_module, "load_pair", full)
    assert main(["run", *SWEPT]) == 2
    assert capsys.readouterr().err.count("no room") == 3


@pytest.mark.slow
def test_one_count_runs_through_all_cells(
    loads: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two lengths, each of AR and three methods; the second command finds one of them done."""
    lengths = ["-m", SMALL[0], SMALL[1], "method=spd,lookup,fly", "method.k=7"]
    assert main(["run", *lengths, "task.max_new_tokens=6"]) == 0
    assert "16 of 16 answers" in capsys.readouterr().err
    assert main(["run", *lengths, "task.max_new_tokens=6,8,9000"]) == 2
    assert "32 of 32 answers" in capsys.readouterr().err


def test_the_count_forgets_what_a_failed_cell_had_ahead(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load = session_module.load_pair
    first: list[int] = []

    def full_once(*given: Any) -> Any:
        first.append(given[4])
        if len(first) == 1:
            raise torch.OutOfMemoryError("no room")
        return load(*given)

    monkeypatch.setattr(session_module, "load_pair", full_once)
    seeds = ["-m", *SMALL, "method=spd", "method.k=7", "sampling=t1", "seed=0,1"]
    assert main(["run", *seeds]) == 2
    said = capsys.readouterr().err
    assert "no room" in said and "8 of 8 answers" in said


@pytest.mark.slow
def test_settings_that_a_rule_does_not_read_make_no_cells(loads: list[int]) -> None:
    arguments = ["-m", *SMALL, "method=spd,fly", "method.k=7", "method.verify.theta=0.1,0.3"]
    assert main(["run", *arguments, "limit=1"]) == 0
    assert len(list(Path("results").glob("random-spd-*"))) == 1
    assert len(list(Path("results").glob("random-fly-*"))) == 2


def test_a_damaged_data_file_fails_its_cells_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.jsonl").write_text("{no json\n")
    arguments = ["-m", SMALL[0], "task.path=bad.jsonl,demo.jsonl", "task.max_new_tokens=6"]
    assert main(["run", *arguments, "method=spd", "method.k=7"]) == 2
    assert "bad.jsonl" in capsys.readouterr().err
    assert len(folder("spd").records()) == 2 * ITEMS


@pytest.mark.slow
def test_a_missing_model_fails_its_cells_alone(capsys: pytest.CaptureFixture[str]) -> None:
    paths = "model.draft.path=random:llama,gone.gguf"
    assert main(["run", "-m", *SMALL, "method=spd", "method.k=7", paths]) == 2
    assert "gone.gguf does not exist" in capsys.readouterr().err
    assert len(folder("spd").records()) == 2 * ITEMS


def test_equal_cells_are_one(loads: list[int]) -> None:
    assert main(["run", "-m", *SMALL, "method=spd", "method.k=7,7"]) == 0
    assert len(folder("spd").records()) == 2 * ITEMS


def test_samplings_are_not_decoded_side_by_side() -> None:
    first, second = cells(parse_request(["-m", *SMALL, "method=spd", "sampling=greedy,t1"]))
    sweep = Sweep([first, second], [])
    assert not plan_of(sweep, first).compatible(plan_of(sweep, second))
    other = replace(first, method=replace(first.method, k=3))
    assert plan_of(sweep, first).compatible(plan_of(Sweep([other], []), other))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("swept", "records"), [("limit=2,4", 8), ("offset=0,2", 8), ("retention_margin=0.01,0.9", 4)]
)
def test_cells_of_one_folder_each_get_their_samples(swept: str, records: int) -> None:
    rest = [] if "limit" in swept else ["limit=2"]
    assert main(["run", "-m", *SMALL, "method=spd", "method.k=7", swept, *rest]) == 0
    found = folder("spd")
    assert len(found.records()) == records
    assert len(found.records_file.read_text().splitlines()) == records
    last = float(swept.rpartition(",")[2])
    if "margin" in swept:
        assert found.provenance()["retention_margin"] == last


@pytest.mark.slow
def test_the_end_of_a_sweep_pools_its_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    seeds = ["method=spd", "method.k=7", "sampling=t1", "seed=0,1"]
    assert main(["run", "-m", *SMALL, *seeds]) == 0
    said = capsys.readouterr().out
    assert "Across seeds: spd on demo, random. Seeds 0, 1" in said
    paths = list(Path("results").glob("random-spd-*"))
    about = [RunFolder(path).provenance() for path in paths]
    assert {known["seed"] for known in about} == {0, 1}
    assert len({known["family"] for known in about}) == 1 and len(paths) == 2
