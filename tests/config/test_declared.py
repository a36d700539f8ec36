"""Declarations are read from sources without running them, and keys of runs do not move."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flybench.config import DraftConfig, VerifyConfig, to_tree
from flybench.config.declared import declarations, kinds
from flybench.core.errors import FlybenchError

RULE = '''
from flybench.core.declare import parameter, verifier

raise RuntimeError("nobody may run this")

@verifier("mine", sampling="greedy")
class Mine:
    """A rule."""

    beta: float = parameter(default=0.5, low=0, high=1, unit="nats", help="a share")
    top: int = parameter(default=2, low=1, help="a count")
    flag: bool = parameter(default=False, help="a switch")
'''


@pytest.fixture
def kind(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(RULE)
    return f"file:{tmp_path / 'mine.py'}:Mine"


def test_what_comes_with_flybench() -> None:
    assert {"eagle3", "lookup", "model", "nested", "none"} <= set(kinds("draft"))
    assert {"exact", "fly"} <= set(kinds("verify"))
    assert {"gsm8k", "humaneval", "mt_bench", "lm_eval"} <= set(kinds("tasks"))
    greedy, sampled = declarations("verify", "exact")
    assert (greedy.class_name, sampled.class_name) == ("ExactVerifier", "RejectionVerifier")


def test_kinds_are_known_without_pytorch() -> None:
    code = (
        "import sys; from flybench.config import VerifyConfig as V; V.of('fly', theta=0.1)\n"
        "assert 'torch' not in sys.modules and 'hydra' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_users_file_is_not_run(kind: str) -> None:
    config = VerifyConfig.of(kind, beta=1)
    assert (config["beta"], config["top"], config["flag"]) == (1.0, 2, False)
    assert config.shown() == "beta=1"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"beta": 2.0}, "beta=2 is not allowed: use 0 to 1 nats (a share)"),
        ({"beta": "high"}, "must be a number"),
        ({"top": 0}, "use 1 or more"),
        ({"top": True}, "must be a whole number"),
        ({"flag": 1}, "must be true or false"),
        ({"bta": 1.0}, "did you mean beta"),
    ],
)
def test_values_are_checked(kind: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(FlybenchError, match=said.replace("(", r"\(").replace(")", r"\)")):
        VerifyConfig.of(kind, **settings)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("default=0.5", "default=HALF"), "has an expression in a declaration"),
        (("beta: float", "beta: complex"), "the type complex"),
        (("class Mine:", "class Mine(:"), "is not valid Python"),
        (('@verifier("mine", sampling="greedy")\n', ""), "has no class Mine"),
    ],
)
def test_a_declaration_that_cannot_be_read(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    (tmp_path / "mine.py").write_text(RULE.replace(*change))
    with pytest.raises(FlybenchError, match=said):
        VerifyConfig.of(f"file:{tmp_path / 'mine.py'}:Mine")


def test_defaults_and_settings_of_other_kinds_stay_out_of_the_key(kind: str) -> None:
    spd = VerifyConfig.of("exact")
    assert VerifyConfig.from_tree({"kind": "exact", "theta": 0.1}) == spd
    always = {"rule": "official", "theta": 0.3, "window": 6, "at_temperature": "native"}
    assert spd.identity() == {"kind": "exact", **always}
    mine = VerifyConfig.of(kind)
    assert {*mine.identity()} == {"kind", *always, "code"}
    assert mine.identity() == VerifyConfig.of(kind, beta=0.5).identity()
    assert mine.identity() != VerifyConfig.of(kind, beta=0.6).identity()
    assert to_tree(DraftConfig.of("lookup", ngram_max=3))["ngram_max"] == 3


def test_code_counts_and_comments_do_not(kind: str, tmp_path: Path) -> None:
    before = VerifyConfig.of(kind).identity()["code"]
    (tmp_path / "mine.py").write_text(RULE.replace("A rule.", "The rule.") + "\n# a comment\n")
    assert VerifyConfig.of(kind).identity()["code"] == before
    (tmp_path / "mine.py").write_text(RULE + "\nX = 1\n")
    assert VerifyConfig.of(kind).identity()["code"] != before


def test_a_finished_run_is_read_without_its_file(kind: str, tmp_path: Path) -> None:
    tree = VerifyConfig.of(kind, beta=0.25).tree()
    (tmp_path / "mine.py").unlink()
    assert VerifyConfig.from_tree(tree)["beta"] == 0.25


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            '@verifier("a")\nclass Mine:\n    x: int = parameter(help="h")',
            "line 3.*'default'",
        ),
        (
            '@verifier("a")\nclass Mine:\n    x: int = parameter(default=0, minimum=0)',
            "line 3.*'minimum'",
        ),
        ("@verifier()\nclass Mine:\n    pass", "line 1.*only positional argument"),
        ('@verifier(kind="a")\nclass Mine:\n    pass', "line 1.*only positional argument"),
    ],
)
def test_a_wrong_declaration_names_its_file_and_line(
    tmp_path: Path, source: str, said: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(source)
    with pytest.raises(FlybenchError, match=f"{file} {said}"):
        declarations("verify", f"file:{file}:Mine")


def test_a_kind_without_a_class_says_so(tmp_path: Path) -> None:
    (tmp_path / "a:b").mkdir()
    file = tmp_path / "a:b" / "mine.py"
    file.write_text(RULE)
    for kind in (f"file:{file}", f"file:{file}:"):
        with pytest.raises(FlybenchError, match="names no class"):
            declarations("verify", kind)
    (found,) = declarations("verify", f"file:{file}:Mine")
    assert found.class_name == "Mine"
