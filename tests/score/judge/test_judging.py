"""From recorded answers to judgements and scores: asked once, resumed, counted, never guessed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flybench.cli.main import main
from flybench.metrics.glossary import GLOSSARY
from flybench.records.folder import JUDGEMENTS, RunFolder
from tests.helpers.endpoints import Answer, Endpoint, endpoint
from tests.helpers.recorded import write_questions, write_recorded

Script = Callable[[int, str], Answer]
# Sample 1 has two turns and two methods, with other texts; sample 2 says the same twice.
SINGLES, PAIRS = 5, 2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setenv("FLYBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2-hunter2")
    return write_recorded(tmp_path / "run", write_questions(tmp_path / "mt"))


def honest(number: int, prompt: str) -> Answer:
    """Grades by the answer's text, and prefers the assistant that says `Four`."""
    if "Verdict: X" in prompt:
        first = prompt.index("Four it is.") < prompt.index("\n4\n")
        return Answer(f"Better.\nVerdict: {'A' if first else 'B'}")
    last = re.findall(r"<answer[^>]*>\n(.*?)\n</answer>", prompt)[-1]
    return Answer(f"Well.\nGrade: { {'4': 9, '5': 7, 'Four it is.': 8, '6': 2}.get(last, 5) }")


def score(folder: RunFolder, server: Endpoint, *more: str) -> int:
    where = ["judge=openai", "judge.model=toy", f"judge.base_url={server.base_url}"]
    return main(["score", str(folder.path), *where, "judge.retries=1", *more])


def rows(folder: RunFolder) -> dict[str, dict[str, object]]:
    return {row["method"]: row for row in folder.read_json("summary.json")}


def test_grades_and_comparisons_by_hand(folder: RunFolder) -> None:
    with endpoint(honest) as server:
        assert score(folder, server, "judge.input_price=10", "judge.output_price=100") == 0
    assert len(server.bodies) == SINGLES + PAIRS
    scores = folder.scores()
    ar, fly = scores["1", "ar"], scores["1", "fly"]
    assert ar.correct == pytest.approx(0.8) and ar.metrics == {"turn 1": 0.9, "turn 2": 0.7}
    assert fly.correct == pytest.approx(0.5)
    assert fly.metrics == {"turn 1": 0.8, "turn 2": 0.2, "pairwise": 1.0, "orders agree": 1.0}
    assert fly.extracted == "8, 2" and "turn 2: 2 (Well. Grade: 2)" in fly.reason
    assert scores["2", "fly"].metrics == {"turn 1": 0.5, "pairwise": 0.5}, "equal texts, a tie"
    row = rows(folder)["fly"]
    assert row["accuracy"] == pytest.approx(0.5)
    assert row["retention"] == pytest.approx(1.0 / 1.3)
    assert [row[name] for name in ("pairs", "mcnemar_p", "n_right", "loose_flips")] == [None] * 4
    assert row["pairwise"] == [1, 1, 0] and row["win_rate"] == 0.75
    assert (row["judge"], row["judge_asked"]) == ("toy", 5)
    assert [row[f"judge_{name}"] for name in ("unparseable", "failed", "inconsistent")] == [0, 0, 0]
    assert (row["judge_tokens_in"], row["judge_tokens_out"]) == (500, 50)
    assert row["judge_cost"] == pytest.approx(0.01)
    assert rows(folder)["ar"]["pairwise"] is None
    assert all(name in GLOSSARY for name in row)
    assert folder.provenance()["judged"] == "scored"


def test_the_second_turn_is_judged_with_its_reference(folder: RunFolder) -> None:
    with endpoint(honest) as server:
        score(folder, server)
    prompts = [body["messages"][0]["content"] for body in server.bodies]
    assert sum("It is 5." in prompt for prompt in prompts) == 4
    assert sum("It is 4." in prompt for prompt in prompts) == 6


@pytest.mark.slow
def test_a_judge_that_favours_a_place_decides_nothing(folder: RunFolder) -> None:
    with endpoint(lambda number, prompt: Answer("Verdict: A")) as server:
        assert score(folder, server) == 0
    row = rows(folder)["fly"]
    assert row["pairwise"] == [0, 2, 0] and row["judge_inconsistent"] == 1
    assert row["judge_unparseable"] == 3, "grades that were no grades"


def test_unreadable_verdicts_are_counted_and_left_out(folder: RunFolder) -> None:
    def mumbling(number: int, prompt: str) -> Answer:
        return Answer("I cannot say.") if "Four it is." in prompt else honest(number, prompt)

    with endpoint(mumbling) as server:
        assert score(folder, server) == 0
    row, scores = rows(folder)["fly"], folder.scores()
    assert scores["1", "fly"].correct is None and "pairwise" not in scores["1", "fly"].metrics
    assert "turn 1: no readable verdict (I cannot say.)" in scores["1", "fly"].reason
    assert (row["judge_asked"], row["judge_unparseable"], row["n_scored"]) == (5, 4, 1)
    assert folder.provenance()["judged"] == "partly judged"


@pytest.mark.slow
def test_nothing_is_asked_twice(folder: RunFolder, tmp_path: Path) -> None:
    with endpoint(honest) as server:
        score(folder, server)
        before = {name: (folder.path / name).read_bytes() for name in ("summary.json", JUDGEMENTS)}
        assert main(["score", str(folder.path)]) == 0, "the run knows its judge"
        for name, content in before.items():
            assert (folder.path / name).read_bytes() == content
        other = write_recorded(tmp_path / "other", tmp_path / "mt")
        assert score(other, server) == 0
        assert len(server.bodies) == SINGLES + PAIRS
        assert rows(other)["fly"]["judge_tokens_in"] == 500
        assert score(folder, server, "judge.max_new_tokens=9") == 0
        assert len(server.bodies) == 2 * (SINGLES + PAIRS), "other settings, other verdicts"
    assert main(["score", str(folder.path)]) == 0, "what is known needs no server"


@pytest.mark.usefixtures("log_on_stderr")
def test_a_failing_call_costs_one_sample_and_is_made_good(
    folder: RunFolder, capfd: pytest.CaptureFixture[str]
) -> None:
    def failing(number: int, prompt: str) -> Answer:
        bad = "Greet me." in prompt
        return Answer(status=400, body="no") if bad else honest(number, prompt)

    with endpoint(failing) as server:
        assert score(folder, server) == 1
        assert "1 of 7 judge calls failed" in capfd.readouterr().err
        assert rows(folder)["fly"]["judge_failed"] == 1
        assert folder.scores()["2", "ar"].correct is None
        assert folder.scores()["1", "ar"].correct == pytest.approx(0.8)
    with endpoint(honest) as server:
        assert score(folder, server, "judge.model=toy") == 0
    assert rows(folder)["fly"]["judge_failed"] == 0


def test_a_run_can_go_back_to_no_judge(folder: RunFolder) -> None:
    records = folder.records_file.read_bytes()
    with endpoint(honest) as server:
        score(folder, server)
    assert main(["score", str(folder.path), "judge=none"]) == 0
    assert rows(folder)["fly"]["judge"] is None
    assert folder.provenance()["judged"] == "unjudged"
    assert folder.records_file.read_bytes() == records


def test_without_a_judge_a_folder_stays_as_it_was(folder: RunFolder) -> None:
    names = ("config.yaml", "provenance.json", "records.jsonl")
    before = [(folder.path / name).read_bytes() for name in names]
    assert main(["score", str(folder.path)]) == 0
    assert [(folder.path / name).read_bytes() for name in names] == before
    assert not (folder.path / JUDGEMENTS).exists()


@pytest.mark.slow
def test_no_file_holds_the_key(folder: RunFolder, tmp_path: Path) -> None:
    with endpoint(honest) as server:
        score(folder, server)
    assert server.keys[0].endswith("hunter2")
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or b"hunter2" not in file.read_bytes(), file
    assert folder.provenance()["judge"]["base_url"] == server.base_url


def test_a_judging_goes_on_behind_the_last_whole_line(folder: RunFolder) -> None:
    with endpoint(honest) as server:
        assert score(folder, server) == 0
        lines = (folder.path / JUDGEMENTS).read_text().splitlines(keepends=True)
        shutil.rmtree(Path(os.environ["FLYBENCH_CACHE"]), ignore_errors=True)
        (folder.path / JUDGEMENTS).write_text("".join(lines[:3]) + lines[3][:20])
        assert score(folder, server) == 0
    kept = {json.loads(line)["key"] for line in lines[:3]}  # several samples may share a question
    assert len(server.bodies) == 2 * (SINGLES + PAIRS) - len(kept)
    assert rows(folder)["fly"]["judge_asked"] == 5


@pytest.mark.slow
def test_a_killed_judging_goes_on_where_it_was(folder: RunFolder) -> None:
    gate = threading.Event()

    def slow(number: int, prompt: str) -> Answer:
        if number >= 3:
            gate.wait(600)
        return honest(number, prompt)

    with endpoint(slow) as server:
        where = ["judge=openai", "judge.model=toy", f"judge.base_url={server.base_url}"]
        code = "import sys; from flybench.cli.main import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", code, "score", str(folder.path), *where]
        process = subprocess.Popen([*command, "judge.concurrency=1"], env=os.environ.copy())
        deadline = time.monotonic() + 600
        while len(server.bodies) < 4 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = {json.loads(line)["key"] for line in (folder.path / JUDGEMENTS).open()}
        assert len(done) == 3
        with (folder.path / JUDGEMENTS).open("a") as stream:
            stream.write('{"key": "half-writ')
        gate.set()
        assert score(folder, server) == 0
    assert len(server.bodies) == 4 + (SINGLES + PAIRS - 3), "only the call under way is repeated"
    assert rows(folder)["fly"]["judge_asked"] == 5
