"""`flybench train-eagle3` as a user meets it, on a tiny target."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from flybench.cli.main import main

QUICK = [
    *("model=random", "model.target.path=random:llama", "data=prompts.jsonl", "out=head"),
    *("train.steps=12", "train.draft_vocab_size=100", "train.batch_tokens=400", "train.lr=0.01"),
    *("train.held_out=0.2", "train.measured=2", "answers.max_new_tokens=16", "answers.batch=4"),
]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_prompts(tmp_path)
    return tmp_path


def write_prompts(folder: Path) -> None:
    rows = [{"prompt": f"Say {n}.", "domain": "numbers"} for n in range(20)]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which QUICK is done, which nobody may change."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_prompts(folder)
        assert main(["train-eagle3", *QUICK]) == 0
    return folder


@pytest.fixture
def done(trained: Path, place: Path) -> None:
    """The working directory is a copy of `trained`."""
    shutil.copytree(trained, place, dirs_exist_ok=True)


@pytest.mark.slow
def test_train_a_head_and_run_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["train-eagle3", *QUICK]) == 0
    printed = capfd.readouterr().out
    assert "chain of 5: τ = " in printed
    assert "tree of 59: τ = " in printed
    facts = json.loads(Path("head/training.json").read_text())
    assert facts["answers"] == {"trained": 16, "held_out": 4}
    assert facts["measured_prompts"] == {"numbers": 2}
    assert 1 <= facts["tau"]["chain of 5"]["all"] <= 6
    assert facts["tau"]["chain of 5"]["numbers"] == facts["tau"]["chain of 5"]["all"]
    card = Path("head/README.md").read_text()
    assert "random:llama" in card
    assert f"{facts['coverage']:.2%}" in card
    run = ["model=random", "model.target.path=random:llama", "model.eagle3=head"]
    limits = ["task=demo", "limit=1", "task.max_new_tokens=12"]
    assert main(["run", *run, "method=eagle3_chain", *limits]) == 0
    # The same command goes on from what is there: nothing is answered or trained again.
    answered = Path("head/corpus.jsonl").stat().st_mtime_ns
    assert main(["train-eagle3", *QUICK]) == 0
    assert Path("head/corpus.jsonl").stat().st_mtime_ns == answered
    assert len(Path("head/log.jsonl").read_text().splitlines()) == 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["model=random"], "add data=FILE"),
        (["model=random", "data=nowhere"], "data=nowhere"),
        (["model=random", "data=bad.jsonl"], "line 1 of bad.jsonl"),
        (["model=random", "data=prompts.jsonl", "train.stps=3"], "did you mean steps"),
        (["model=random", "data=prompts.jsonl", "train.steps=0"], "train.steps=0"),
        (["model=random", "data=prompts.jsonl", "train.draft_vocab_size=9"], "at least 64"),
        (["model=random", "data=prompts.jsonl", "train.lr=-1"], "train.lr=-1"),
        (["model=random", "data=prompts.jsonl", "train.measured=0"], "train.measured=0"),
        (["model=random", "data=empty.jsonl"], "has no prompts"),
        (["model=random", "data=null.jsonl"], "line 1 of null.jsonl"),
        ([*QUICK, "train.longest=4"], "train.longest=4"),
        (["model=random", "data=prompts.jsonl", "train.held_out=2"], "train.held_out=2"),
        (["model=random", "data=one.jsonl", *QUICK[3:]], "too few"),
    ],
)
def test_mistakes_are_one_sentence(
    capfd: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    Path("bad.jsonl").write_text("[]\n")
    Path("empty.jsonl").write_text("\n")
    Path("null.jsonl").write_text(json.dumps({"prompt": None}) + "\n")
    Path("one.jsonl").write_text(json.dumps({"prompt": "Hi."}) + "\n")
    assert main(["train-eagle3", *arguments]) == 2
    *_, line = capfd.readouterr().err.strip().splitlines()
    assert said in line
    assert line.endswith(".")


@pytest.mark.slow
def test_answers_to_other_prompts_are_not_taken(
    done: None, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("prompts.jsonl").write_text(json.dumps({"prompt": "Another."}) + "\n")
    assert main(["train-eagle3", *QUICK]) == 2
    assert "has answers for other prompts" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("train.unroll=2", "started with unroll=4"),
        ("train.steps=3", "started with steps=12"),
        ("answers.max_new_tokens=4", "started with max_new_tokens=16"),
        ("model.target.path=random:llama:7", "started with target=random:llama"),
    ],
)
def test_a_folder_begun_with_other_settings_is_refused(
    done: None, capfd: pytest.CaptureFixture[str], change: str, said: str
) -> None:
    assert main(["train-eagle3", *QUICK, change]) == 2
    assert said in capfd.readouterr().err


def test_a_rate_may_be_written_as_people_do(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["train-eagle3", *QUICK, "train.lr=1e-2", "train.steps=1"]) == 0
