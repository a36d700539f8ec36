"""Every verb's parser: help for each option, typos refused before PyTorch, logs on stderr."""

from __future__ import annotations

import importlib
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flybench.cli.log import logging_to_stderr
from flybench.cli.main import VERBS, main
from flybench.cli.parser import Parser

ROOT = Path(__file__).parent.parent.parent
HEAVY = "{'torch', 'transformers', 'hydra', 'pandas', 'matplotlib', 'lm_eval'} & set(sys.modules)"
TYPOS = [
    ["rum"],
    ["run", "--dryrun"],
    ["run", "modle=smollm2"],
    ["run", "model=smolm2"],
    ["run", "method.verify.thta=0.1"],
    ["run", "limit=abc"],
    ["run", "--config-dir", "nowhere"],
    ["run", "-m", "experiment=paper"],
    ["score"],
    ["score", "results", "limit=3"],
    ["report", "nothing"],
    ["compare", "nothing", "neither"],
    ["compare", "a", "b", "--min-spedup", "1"],
    ["show", "nothing"],
    ["power", "nothing"],
    ["export", "nothing", "--to", "csv", "--out", "x"],
    ["latency", "weights=x"],
    ["latency", "--acceptance", "nothing"],
    ["replay", "nothing", "method.verify.thta=1"],
    ["tune", "tune.thta=1"],
    ["train-eagle3", "data=x", "train.stps=1"],
    ["list", "modles"],
    ["doctor", "x"],
]


def parser(verb: str) -> Parser:
    declared = Parser(verb, VERBS[verb])
    importlib.import_module(f"flybench.cli.{verb.replace('-', '_')}").declare(declared)
    return declared


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_has_a_help_text(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    for action in parser(verb)._actions:
        assert action.help, action
    assert main([verb, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: flybench {verb} ")


def test_the_usage_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert all(re.search(rf"^  {verb} +\S", printed, re.MULTILINE) for verb in VERBS)
    assert printed.count("\n  flybench ") == 3


def test_the_documents_name_verbs_that_exist() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text()
        found = set(re.findall(r"(?:^ {4}|`)flybench ([a-z][\w-]*)", text, re.MULTILINE))
        assert found <= set(VERBS), name


def test_help_and_typos_import_nothing_heavy() -> None:
    code = (
        "import sys; from flybench.cli.main import VERBS, main\n"
        f"for typo in {TYPOS!r}: assert main(typo) == 2, typo\n"
        "for verb in VERBS: assert main([verb, '--help']) == 0\n"
        f"assert not {HEAVY}, {HEAVY}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == len(TYPOS)
    assert all(line.startswith("flybench: ") and line.endswith(".") for line in lines)


def test_a_run_that_cannot_work_is_refused_without_the_engine() -> None:
    code = (
        "import sys; from flybench.cli.main import main; assert main(['run', 'method.k=6']) == 2; "
        "assert not {'torch', 'transformers', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["list", "models"]])
def test_a_closed_pipe_ends_quietly(words: list[str]) -> None:
    code = "import sys; from flybench.cli.main import main; sys.stdin.read(); sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdin and program.stdout and program.stderr
        program.stdout.close()
        program.stdin.close()
        assert program.stderr.read() == b""
        assert program.wait(60) == 0


def test_the_log_is_plain_on_stderr_and_errors_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger("flybench.anything")
    monkeypatch.delenv("FLYBENCH_DEBUG", raising=False)
    with logging_to_stderr():
        logger.debug("hidden")
        logger.info("a note")
        logger.error("wrong")
    assert capsys.readouterr().err == "a note\nflybench: wrong\n"
    monkeypatch.setenv("FLYBENCH_DEBUG", "1")
    with logging_to_stderr():
        logger.debug("shown", exc_info=ValueError("why"))
    assert "ValueError: why" in capsys.readouterr().err
    assert not logging.getLogger("flybench").handlers
