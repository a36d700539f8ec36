"""The examples of CONTRIBUTING.md, run as printed: a drafter, a rule and a task of a user's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flybench.cli.main import main
from flybench.records.folder import RunFolder

GUIDE = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
SMALL = ["model=random", "limit=2", "task.max_new_tokens=24", "--config-dir", "conf"]


def blocks(heading: str, language: str) -> list[str]:
    """The code blocks of a section."""
    section = re.split(r"^## ", GUIDE, flags=re.MULTILINE)
    (found,) = [part for part in section if part.startswith(heading + "\n")]
    return re.findall(rf"```{language}\n(.*?)```", found, re.DOTALL)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(place: Path, heading: str, file: str, yaml: str) -> list[str]:
    """The section's files; returns its other Python blocks."""
    code, *rest = blocks(heading, "python")
    (place / file).write_text(code)
    (settings,) = blocks(heading, "yaml")
    target = place / "conf" / yaml
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(settings)
    return rest


def run_of(out: str) -> RunFolder:
    (path,) = Path(out).iterdir()
    return RunFolder(path)


def test_the_drafter_emits_what_ar_emits(place: Path) -> None:
    (check,) = write(place, "A drafter", "echo.py", "method/echo.yaml")
    exec(compile(check, "CONTRIBUTING.md", "exec"), {})
    folder = run_of("echoed")
    assert folder.config().method.settings == "k=4 period=2"
    echoed = [r for (_, method), r in folder.records().items() if method == "echo"]
    assert all(round_.drafted == 4 for r in echoed for round_ in r.turns[0].rounds)


def test_the_rule_records_its_loose_tokens(place: Path) -> None:
    write(place, "A rule", "second.py", "method/top_k.yaml")
    assert main(["run", *SMALL, "method=top_k", "task=demo", "out=loose", "method.k=5"]) == 0
    config = run_of("loose").config()
    assert config.method.verify["top_k"] == 2
    loose = [*SMALL, "method=top_k", "task=demo", "method.verify.top_k=250"]
    assert main(["run", *loose, "method.draft.kind=lookup", "out=very"]) == 0
    records = run_of("very").records().values()
    tokens = [token for r in records for turn in r.turns for token in turn.loose_tokens]
    assert all(1 < token.statistics.rank <= 250 for token in tokens)


def test_the_rule_is_swept_shown_and_has_its_strict_limit(place: Path) -> None:
    write(place, "A rule", "second.py", "method/top_k.yaml")
    swept = ["-m", *SMALL, "method=top_k", "task=demo", "method.verify.top_k=1,3", "out=swept"]
    assert main(["run", *swept]) == 0
    folders = [RunFolder(path) for path in Path("swept").iterdir()]
    assert {f.config().method.settings for f in folders} == {"k=6 top_k=1", "k=6 top_k=3"}
    strict = next(f for f in folders if f.config().method.verify["top_k"] == 1).records()
    for sample_id in {sample for sample, _ in strict}:
        ar, own = (strict[sample_id, method].turns[0].ids for method in ("ar", "top_k"))
        assert own == ar


def test_mistakes_in_a_users_file_are_one_sentence(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(place, "A rule", "second.py", "method/top_k.yaml")
    for extra, said in (
        (["method.verify.topk=3"], "did you mean top_k"),
        (["method.verify.top_k=0"], "use 1 or more ids"),
        (["sampling=t1"], "does not support sampling"),
        (["method.verify.kind=file:gone.py:Rule"], "does not exist"),
        (["method.verify.kind=file:second.py:Rule"], "has no class Rule"),
    ):
        assert main(["run", *SMALL, "method=top_k", "task=demo", *extra]) == 2
        error = capsys.readouterr().err
        assert said in error, (extra, error)


def test_edited_code_is_another_run_and_never_mixed(place: Path) -> None:
    write(place, "A rule", "second.py", "method/top_k.yaml")
    arguments = ["run", *SMALL, "method=top_k", "task=demo", "out=edited"]
    assert main(arguments) == 0
    source = Path("second.py").read_text()
    Path("second.py").write_text(source + "\n# a comment\n")
    assert main(arguments) == 0
    assert len(list(Path("edited").iterdir())) == 1
    Path("second.py").write_text(source.replace(".any(-1)", ".all(-1)"))
    assert main(arguments) == 0
    assert len(list(Path("edited").iterdir())) == 2


def test_the_task_is_scored(place: Path) -> None:
    write(place, "A task", "capitals.py", "task/capitals.yaml")
    assert main(["run", *SMALL, "method=lookup", "task=capitals", "out=asked"]) == 0
    scores = run_of("asked").scores()
    assert {sample for sample, _ in scores} == {"France", "Japan"}
    assert all(score.metrics.keys() == {"named"} for score in scores.values())


def test_a_finished_run_is_reported_without_its_file(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(place, "A rule", "second.py", "method/top_k.yaml")
    arguments = ["run", *SMALL, "method=top_k", "task=demo", "out=kept"]
    assert main(arguments) == 0
    Path("second.py").unlink()
    folder = run_of("kept")
    assert folder.config().method.verify["top_k"] == 2
    assert main(["report", str(folder.path), "--out", "page"]) == 0
    assert main(arguments) == 2
    assert "second.py" in capsys.readouterr().err
