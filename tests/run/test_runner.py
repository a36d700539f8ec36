"""Running: resume after a kill, failures that cost one sample, order, seeds, cold state."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from flybench.config import BaselineConfig, RunConfig
from flybench.config.compose import cells, parse_request
from flybench.core.errors import FlybenchError
from flybench.decode import AR
from flybench.engine.eagle3.checkpoint import save_head
from flybench.metrics.summary import write_summary
from flybench.records.folder import RunFolder
from flybench.run import generate as generate_module
from flybench.run import provenance as provenance_module
from flybench.run import runner as run_module
from flybench.run.plan import Plan, make_plan
from flybench.run.progress import Progress
from flybench.run.provenance import open_folder
from flybench.run.runner import ScheduledMethod, generate, pending
from flybench.run.session import Session
from flybench.score.score import score_records
from tests.helpers import toys

ITEMS = 6
# The draft is never right, so that a short one does all that a long one would.
FLY = ["method=fly", "method.k=7"]
ARGUMENTS = ["model=random", *FLY, "task.path=demo.jsonl", "task.max_new_tokens=16"]
# Figures that a clock decides; everything else must repeat exactly.
TIMED = (
    *("_s", "_second", "speedup", "ms_per_round", "peak_memory", "bandwidth", "regime"),
    *("cost_ratio", "verify_ratio", "overhead_ratio"),
)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunConfig:
    monkeypatch.chdir(tmp_path)
    return configured(tmp_path)


def configured(folder: Path) -> RunConfig:
    """Write the samples into the folder, which is the working directory."""
    rows = [
        {
            "id": f"item-{n}",
            "category": "math",
            "kind": "number",
            "turns": [f"What is {n} plus 2?"],
            "reference": {"answer": str(n + 2)},
        }
        for n in range(ITEMS - 1)
    ]
    rows.append(
        {"id": "chat", "category": "chat", "kind": "open", "turns": ["Hi", "And?"], "reference": {}}
    )
    (folder / "demo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (config,) = cells(parse_request(ARGUMENTS))
    return config


def prepare(config: RunConfig, argv: list[str]) -> Plan:
    plan = make_plan(config)
    open_folder(plan, argv)
    return plan


@pytest.mark.slow
@pytest.mark.parametrize("method", ["eagle3", "eagle3_chain"])
@pytest.mark.parametrize("engine", ["eager", "graph"])
def test_a_head_drafts_for_a_run(
    method: str, engine: str, config: RunConfig, tmp_path: Path
) -> None:
    save_head(toys.head("llama"), tmp_path / "head", "random:llama", 5)
    arguments = [*ARGUMENTS[:1], *ARGUMENTS[3:], f"method={method}", f"engine={engine}"]
    head = ["model.target.path=random:llama", f"model.eagle3={tmp_path / 'head'}"]
    (config,) = cells(parse_request([*arguments, *head, "limit=2"]))
    plan = complete(config)
    records = plan.folder.records()
    assert len(records) == 4
    for (sample, _), record in records.items():
        ids = [turn.ids for turn in record.turns]
        assert record.error is None
        assert ids == [turn.ids for turn in records[sample, "ar"].turns]
        assert {r.drafted for r in record.turns[0].rounds} in ({0}, {config.method.k})
    ids = toys.head("llama").draft_ids.tolist()
    tokens = [
        token
        for (_, name), r in records.items()
        if name == "ar"
        for t in r.turns
        for token in t.ids
    ]
    rows = plan.folder.read_json("summary.json")
    assert rows[1]["draft_coverage"] == sum(token in ids for token in tokens) / len(tokens)
    assert rows[0]["draft_coverage"] is None
    provenance = plan.folder.read_json("provenance.json")
    assert set(provenance["models"]["head"]["files"]) == {"config.json", "model.safetensors"}


def complete(config: RunConfig) -> Plan:
    plan = prepare(config, [])
    if todo := pending([plan]):
        generate([plan], todo, Session.of(plan, plan.max_length), Progress())
    score_records(plan.folder, plan.task)
    write_summary(plan.folder)
    return plan


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a complete run, which nobody may change."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        complete(configured(folder))
    return folder / "results"


@pytest.fixture
def finished(config: RunConfig, whole_run: Path) -> Plan:
    """A copy of the complete run in the working directory."""
    shutil.copytree(whole_run, "results")
    return prepare(config, [])


def untimed(folder: RunFolder) -> list[dict[str, Any]]:
    return [
        {k: v for k, v in row.items() if not any(word in k for word in TIMED)}
        for row in folder.read_json("summary.json")
    ]


def answers(folder: RunFolder) -> dict[tuple[str, str], list[list[int]]]:
    return {key: [turn.ids for turn in r.turns] for key, r in folder.records().items()}


def test_a_run_goes_on_behind_the_last_whole_line(config: RunConfig, finished: Plan) -> None:
    whole = finished.folder
    expected, lines = untimed(whole), whole.records_file.read_text().splitlines(keepends=True)
    found = answers(whole)
    whole.records_file.write_text("".join(lines[:5]) + lines[5][:30])
    again = complete(config).folder
    assert again.records_file.read_text().startswith("".join(lines[:5]))
    assert untimed(again) == expected
    assert answers(again) == found


@pytest.mark.slow
def test_killed_and_started_again_ends_in_the_same_tables(config: RunConfig) -> None:
    whole = complete(replace(config, out="whole")).folder
    # Slowed down, so that the kill falls between samples of a run in progress.
    code = (
        "import time, flybench.run.runner as r\nfrom flybench.cli.main import main\n"
        "old = r.generate_sample\n"
        "def slow(*a): time.sleep(0.3); return old(*a)\n"
        f"r.generate_sample = slow; main(['run', *{ARGUMENTS!r}, 'out=killed'])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    name = whole.path.name
    records = Path("killed") / name / "records.jsonl"
    deadline = time.monotonic() + 600
    while not records.exists() or len(records.read_text().splitlines()) < 5:
        assert time.monotonic() < deadline, "the run never started"
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with records.open("a") as stream:
        stream.write('{"sample_id": "item-')  # as a kill in the middle of a write leaves it
    before = len(records.read_text().splitlines())
    assert before < 2 * ITEMS
    resumed = complete(replace(config, out="killed")).folder
    assert resumed.path == Path("killed") / name
    assert untimed(resumed) == untimed(whole)
    assert answers(resumed) == answers(whole)
    assert len(resumed.read_json("provenance.json")["invocations"]) == 2


def test_a_finished_run_decodes_nothing_again(config: RunConfig, finished: Plan) -> None:
    assert pending([finished]) == []
    assert pending([prepare(config, [])]) == []


def test_a_larger_limit_continues_the_same_run(config: RunConfig) -> None:
    small = complete(replace(config, limit=2))
    large = prepare(replace(config, limit=4), [])
    assert large.folder.path == small.folder.path
    assert [prompt.sample_id for _, prompt, _ in pending([large])] == ["item-2", "item-3"]


def test_settings_that_change_tokens_change_the_folder(config: RunConfig) -> None:
    folders = {
        prepare(other, []).folder.path
        for other in (
            config,
            replace(config, seed=1),
            replace(config, task=replace(config.task, max_new_tokens=8)),
            replace(config, method=replace(config.method, k=12)),
        )
    }
    assert len(folders) == 4


def test_offset_and_limit_choose_samples(config: RunConfig) -> None:
    plan = prepare(replace(config, offset=1, limit=2), [])
    assert [(n, p.sample_id) for n, p, _ in pending([plan])] == [(1, "item-1"), (2, "item-2")]


def test_shuffled_samples_come_in_one_random_order(config: RunConfig) -> None:
    mixed = replace(config, shuffle=True)
    whole = [prompt.sample_id for prompt in make_plan(mixed).prompts]
    plain = [prompt.sample_id for prompt in make_plan(config).prompts]
    assert whole != plain and sorted(whole) == sorted(plain)
    halves = [replace(mixed, offset=offset, limit=3) for offset in (0, 3)]
    parts = [prompt.sample_id for half in halves for prompt in make_plan(half).prompts]
    assert parts == whole
    assert make_plan(mixed).folder.path == make_plan(config).folder.path


def test_a_crash_marks_one_sample_and_the_run_goes_on(
    config: RunConfig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    generate_turns = generate_module.generate_turns
    caplog.set_level("DEBUG", "flybench")

    def sometimes(plan: Plan, prompt: Any, decoder: Any, salt: str) -> Any:
        if prompt.sample_id == "item-1" and decoder.k:
            raise MemoryError("no room")
        return generate_turns(plan, prompt, decoder, salt)

    monkeypatch.setattr(generate_module, "generate_turns", sometimes)
    folder = complete(config).folder
    records = folder.records()
    assert len(records) == 2 * ITEMS
    failed = records["item-1", "fly"]
    assert failed.error == "MemoryError: no room"
    assert failed.turns == []
    assert "item-1 (fly) failed: MemoryError: no room" in caplog.text
    assert 'raise MemoryError("no room")' in caplog.text  # the traceback, at DEBUG
    rows = {row["method"]: row for row in folder.read_json("summary.json")}
    assert (rows["fly"]["n"], rows["fly"]["n_error"], rows["ar"]["n_error"]) == (ITEMS - 1, 1, 0)
    monkeypatch.setattr(generate_module, "generate_turns", generate_turns)
    assert [prompt.sample_id for _, prompt, _ in pending([prepare(config, [])])] == ["item-1"]
    assert complete(config).folder.records()["item-1", "fly"].error is None


def test_an_overlong_prompt_is_one_failed_sample(config: RunConfig) -> None:
    with Path("demo.jsonl").open("a") as stream:
        row = {
            "id": "long",
            "category": "ood",
            "kind": "open",
            "turns": ["word " * 900],
            "reference": {},
        }
        stream.write(json.dumps(row) + "\n")
    records = complete(config).folder.records()
    assert "context length of the target is 2048" in str(records["long", "ar"].error)
    assert records["item-0", "ar"].error is None


@pytest.mark.slow
def test_order_alternates_between_samples(finished: Plan) -> None:
    records = finished.folder.records()
    firsts = [name for (_, name), record in records.items() if record.position == 0]
    assert firsts == ["ar", "fly"] * (ITEMS // 2)


@pytest.mark.slow
def test_a_repeated_baseline_shows_the_noise_floor(config: RunConfig) -> None:
    twice = replace(config, baseline=BaselineConfig(2))
    folder = complete(twice).folder
    places = {(key[1], record.position) for key, record in folder.records().items()}
    assert places == {("ar", 0), ("ar", 2), ("fly", 1), ("ar_again", 0), ("ar_again", 2)}
    again = {row["method"]: row for row in folder.read_json("summary.json")}["ar_again"]
    assert (again["exact_match_rate"], again["tie_flips"], again["n_paired"]) == (1.0, 0, ITEMS)
    assert again["pairs"][1:3] == [0, 0] and len(again["speedup_throughput_ci"]) == 2
    assert (again["bytes_ratio"], again["loose_flips"]) == (None, None)


def test_a_run_without_a_repeat_is_continued_by_the_repeat_alone(config: RunConfig) -> None:
    once = replace(config, limit=2)
    before = complete(once).folder
    known = before.records()
    twice = replace(once, baseline=BaselineConfig(2))
    asked = pending([make_plan(twice)])
    assert [[m.name for m in each.missing[0]] for each in asked] == [["ar_again"]] * 2
    after = complete(twice).folder
    assert after.path == before.path
    assert {key: r for key, r in after.records().items() if key[1] != "ar_again"} == known
    assert len(after.records()) == 6 and pending([make_plan(twice)]) == []


def test_a_repeat_draws_anew_at_temperature(config: RunConfig) -> None:
    hot = replace(config, sampling=replace(config.sampling, temperature=1.0), limit=2)
    found = answers(complete(replace(hot, baseline=BaselineConfig(2))).folder)
    assert all(found[sample, "ar"] != found[sample, "ar_again"] for sample, _ in found)


def test_second_turn_reads_the_methods_own_first_answer(finished: Plan) -> None:
    record = finished.folder.records()["chat", "fly"]
    dialogue = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": record.turns[0].text},
        {"role": "user", "content": "And?"},
    ]
    assert record.turns[1].prompt_tokens == len(
        finished.chat.encode(finished.chat.render(dialogue))
    )


def test_rendered_prompt_and_provenance_precede_the_first_token(config: RunConfig) -> None:
    plan = prepare(config, ["flybench", "run", "hub.token=abc"])
    assert plan.folder.path.joinpath("prompt.txt").read_text() == plan.chat.render(
        plan.prompts[0].messages
    )
    provenance = plan.folder.read_json("provenance.json")
    (invocation,) = provenance["invocations"]
    assert invocation["argv"][-1] == "hub.token=<redacted>"
    assert provenance["models"]["target"]["eos_ids"]
    assert invocation["environment"]["packages"]["torch"]
    assert not plan.folder.records_file.exists()


def test_warnings_of_what_was_measured_stay(
    config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance_module, "busy_share", lambda: 0.52)
    plan = make_plan(replace(config, limit=1))
    open_folder(plan, [])
    (busy,) = plan.folder.provenance()["warnings"]
    assert "52%" in busy
    monkeypatch.setattr(provenance_module, "busy_share", lambda: 0.99)
    open_folder(plan, [], decodes=False)
    assert plan.folder.provenance()["warnings"] == [busy]
    open_folder(plan, [])
    assert len(plan.folder.provenance()["warnings"]) == 2


def test_costs_are_kept_with_the_invocation_that_met_them(config: RunConfig) -> None:
    folder = complete(replace(config, limit=1)).folder
    complete(replace(config, limit=2))
    complete(replace(config, limit=2))  # nothing is left to decode
    first, second, third = folder.read_json("provenance.json")["invocations"]
    assert first["costs"]["read_bandwidth"] > 1e8
    assert first["costs"]["target"] == second["costs"]["target"]
    assert first["costs"]["target"]["weight_bytes"] > 0
    assert first["costs"]["draft"]["kv_bytes_per_token"] > 0
    assert "costs" not in third
    ar, fly = folder.read_json("summary.json")
    assert ar["bandwidth_share"] > 0
    assert ar["regime"] in ("bandwidth-bound", "overhead-bound")
    assert 0.7 < fly["bytes_ratio"] < 0.8  # one layer of four is left out, the output layer stays


def test_a_cpu_has_no_telemetry(config: RunConfig) -> None:
    records = complete(replace(config, limit=1)).folder.records()
    assert {record.telemetry for record in records.values()} == {None}


@pytest.mark.slow
def test_sampling_is_reproducible_and_seeds_differ(config: RunConfig) -> None:
    hot = replace(config, sampling=replace(config.sampling, temperature=1.0), limit=2)
    first = answers(complete(replace(hot, out="a")).folder)
    assert answers(complete(replace(hot, out="b")).folder) == first
    assert answers(complete(replace(hot, out="c", seed=1)).folder) != first


def test_changed_data_make_another_run(config: RunConfig, finished: Plan) -> None:
    before = finished.folder
    text = Path("demo.jsonl").read_text()
    Path("demo.jsonl").write_text(text.replace("What is 3 plus 2?", "What is 3 and 2?"))
    after = prepare(config, [])
    assert after.folder.path != before.path
    assert len(pending([after])) == ITEMS


def test_a_failure_never_hides_a_finished_sample(config: RunConfig) -> None:
    folder = complete(replace(config, limit=1)).folder
    done = folder.records()["item-0", "ar"]
    folder.append(structs.replace(done, turns=[], error="RuntimeError: later"))
    assert folder.records()["item-0", "ar"] == done


def test_two_processes_never_share_a_folder(config: RunConfig) -> None:
    folder = prepare(config, []).folder
    with folder.exclusive(), pytest.raises(FlybenchError, match="another process"):
        folder.exclusive().__enter__()
    with folder.exclusive():
        pass


def test_scoring_with_other_data_is_refused(config: RunConfig, finished: Plan) -> None:
    Path("demo.jsonl").write_text(Path("demo.jsonl").read_text().replace("item-3", "item-9"))
    with pytest.raises(FlybenchError, match="item-3"):
        score_records(finished.folder, type(finished.task)(config.task))


def test_what_plans_share_is_answered_where_there_is_most_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans: Any = [SimpleNamespace(room=room) for room in (10, 30, 20)]
    monkeypatch.setattr(run_module, "generate_sample", lambda plan, *rest: plan)
    turn: Any = ScheduledMethod(AR, decoder=None, plans=plans)  # type: ignore[arg-type]
    assert turn.decode(prompt=None, position=0).room == 30
