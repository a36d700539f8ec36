"""The command line as a user meets it: verbs, exit codes, one sentence for every mistake."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from flybench.cli.main import main
from flybench.config.groups import GROUPS, conf_dir, options

ITEMS = [
    {
        "id": f"item-{n}",
        "category": "math",
        "kind": "number",
        "turns": [f"What is {n} plus 2?"],
        "reference": {"answer": str(n + 2)},
    }
    for n in range(4)
]
SMALL = ["model=random", "task.max_new_tokens=12", "method.k=8"]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A four-sample task in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    (tmp_path / "broken.jsonl").write_text("{")
    (tmp_path / "half.jsonl").write_text('{"id": "a\\ud800"}')
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 999)[:20])
    (tmp_path / "twice.jsonl").write_text((json.dumps(ITEMS[0]) + "\n") * 2)
    (tmp_path / "kind.jsonl").write_text(json.dumps(ITEMS[0] | {"kind": "numbr"}))
    (tmp_path / "turns.jsonl").write_text(json.dumps(ITEMS[0] | {"turns": "abc"}))
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "broken.jinja").write_text("{% for %}")
    (tmp_path / "own" / "method").mkdir(parents=True)
    (tmp_path / "own" / "method" / "bad.yaml").write_text("name: [")
    return tmp_path


def run(*arguments: str) -> int:
    return main(["run", *SMALL, "task.path=demo.jsonl", *arguments])


def test_help_imports_nothing_but_itself() -> None:
    code = (
        "import sys; from flybench.cli.main import main; assert main(['--help']) == 0; "
        "assert not {'yaml', 'torch', 'hydra'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["metod=fly"], "did you mean method"),
        (["method=flyy"], "did you mean fly"),
        (["model=smolm2"], "did you mean smollm2"),
        (["method.verify.thetta=1"], "did you mean theta"),
        (["method=fly", "method.draft.tree_depth=3"], "has no effect on method.draft.kind=nested"),
        (["method.verify.theta=high"], "must be a number"),
        (["limit=two"], "must be a whole number"),
        (["limit=0"], "limit=0"),
        (["task=lm_eval"], "add task.name="),
        (["task=lm_eval", "task.name=x", "task.columns=a"], "must be a list"),
        (["offset=-1"], "offset=-1"),
        (["method.verify.rule=offical"], "did you mean official"),
        (["method.k=6"], "at least 7"),
        (["method=fly,spd"], "add -m"),
        (["method.draft.kind=[]"], "must be text"),
        (["model.draft=null"], "add model.draft.path"),
        (["sampling.temperature=-1"], "temperature"),
        (["sampling.top_p=0.9"], "no effect at temperature 0"),
        (["method=fly_best_of_two", "method.draft.draw=sample"], "draft.draw=greedy"),
        (["model.target.path=missing.gguf", "method=lookup"], "does not exist"),
        (["model.target.path=package:no-such-package", "method=lookup"], "pip install"),
        (["model.draft.skip_layers=[3,9]"], "4 layers"),
        (["model.target.path=random:lama", "method=lookup"], "did you mean llama"),
        (["task.path=nowhere"], "demo.jsonl"),
        (["offset=4"], "leaves no sample"),
        (["engine.device=cuda:99"], "flybench doctor"),
        (["model=llama70b"], "needs 3 GPU(s) with 80 GB each"),
        (["task.chat_template=nowhere"], "neither auto, none nor a file"),
        (["retention_margin=2"], "between"),
        (["warmup=-1"], "warmup=-1"),
        (["limit=99999999999999999999"], "limit=9999"),
        (["model.name=../../escaped"], "part of a folder's name"),
        (["task.name=a/b"], "part of a folder's name"),
        (["method.name=ar"], "method without a drafter"),
        (["method=lookup", "method.name=ar"], "method without a drafter"),
        (["method.draft.ngram_max=1000000000"], "ngram_max"),
        (["sampling.temperature=1e-40"], "0.001"),
        (["task.metric=zzz"], "task.metric=zzz"),
        (["task.path=''"], "task.path is empty"),
        (["task.max_new_tokens=3000"], "context length of the target is 2048"),
        (["method.k=100000"], "method.k"),
        (["model=null"], "does not exist"),
        (["~method"], "neither an option"),
        (["--multirun=1"], "--help"),
        (["-m", "limit=range(0,0)"], "check its ranges"),
        (["engine.device=meta"], "flybench doctor"),
        (["model.target.path=random:llama:99999999999999999999", "method=lookup"], "SEED"),
        (["task.path=broken.jsonl"], "not a file of JSON rows"),
        (["task.path=half.jsonl"], "surrogates not allowed"),
        (["task.path=cut.jsonl.gz"], "not a file of JSON rows"),
        (["task.path=twice.jsonl"], "repeats"),
        (["task.path=kind.jsonl"], "did you mean number"),
        (["task.path=turns.jsonl"], "row 1"),
        (["task.path=empty.jsonl"], "not empty"),
        (["task.chat_template=broken.jinja"], "chat template fails"),
        (["--config-dir", "own", "method=bad"], "is not valid YAML"),
        (["fly"], "neither an option"),
        (["--config-dir", "nowhere"], "not a folder"),
        (["out=b=[c"], "key=value"),
        (["judge=openai"], "add judge.model="),
        (["judge=opnai"], "did you mean openai"),
        (["judge=local", "judge.model=x"], "a rule scores its answers"),
    ],
)
def test_mistakes_are_one_sentence_before_any_weight(
    data: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    model_given = any(a.startswith(("model=", "model.target")) for a in arguments)
    base = SMALL[1:] if model_given else SMALL
    assert main(["run", *base, "task.path=demo.jsonl", *arguments]) == 2
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert said in line
    assert line.startswith("flybench: ")
    assert line.endswith(".")
    assert not Path("results").exists() or not list(Path("results").glob("*/records.jsonl"))


def test_debug_shows_the_traceback(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLYBENCH_DEBUG", "1")
    with pytest.raises(Exception, match="at least 7"):
        run("method.k=6")


def test_an_unwritable_folder_is_one_sentence(
    data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("taken").write_text("a file, not a folder")
    assert run("out=taken", "limit=1") == 2
    assert "taken" in capfd.readouterr().err.strip().splitlines()[-1]


def test_unknown_verb_and_missing_run(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["rum"]) == 2
    assert main(["report", "nowhere"]) == 2
    assert main(["score"]) == 2
    assert main(["list", "colours"]) == 2
    assert "Traceback" not in capfd.readouterr().err


def test_run_score_report(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    (folder,) = Path("results").glob("random-fly-demo-*")
    printed = capfd.readouterr().out
    assert str(folder) in printed
    assert "retention" in printed
    files = {file.name for file in folder.iterdir()}
    assert files >= {"config.yaml", "provenance.json", "prompt.txt", "records.jsonl"}
    assert files >= {"scores.jsonl", "summary.json", "summary.csv"}
    before = (folder / "summary.json").read_bytes()
    for name in ("scores.jsonl", "summary.json", "summary.csv"):
        (folder / name).unlink()
    assert main(["score", str(folder)]) == 0
    assert (folder / "summary.json").read_bytes() == before
    assert main(["report", str(folder)]) == 0
    page = Path("reports") / folder.name / "index.html"
    assert str(page) in capfd.readouterr().out
    assert page.is_file()


def test_multirun_runs_every_combination(data: Path) -> None:
    assert run("-m", "limit=1", "method.verify.theta=0.1,0.3", "method.verify.window=4,6") == 0
    thetas = [
        json.loads((f / "provenance.json").read_text())["method_config"]["verify"]
        for f in Path("results").glob("random-fly-demo-*")
    ]
    assert {(v["theta"], v["window"]) for v in thetas} == {(0.1, 4), (0.1, 6), (0.3, 4), (0.3, 6)}


def test_multirun_checks_every_cell_before_the_first_runs(
    data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("-m", "method.verify.window=4,9") == 2
    assert "at least 10" in capfd.readouterr().err
    assert run("-m", "sampling.temperature=0,-1") == 2
    assert "temperature=-1" in capfd.readouterr().err
    assert not Path("results").exists()


def test_own_configuration_folder(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (data / "own" / "method" / "bad.yaml").unlink()
    (data / "own" / "method" / "short.yaml").write_text(
        "name: short\ndescription: a short lookup\nk: 2\n"
        "draft: {kind: lookup}\nverify: {kind: exact}\n"
    )
    assert main(["list", "methods", "--config-dir", "own"]) == 0
    assert "a short lookup" in capfd.readouterr().out
    assert (
        main(
            ["run", "--config-dir", "own", "model=random", "method=short", "task.path=demo.jsonl"]
            + ["limit=1", "task.max_new_tokens=8"]
        )
        == 0
    )
    assert list(Path("results").glob("random-short-demo-*"))


def test_an_own_file_of_a_name_that_is_taken_is_refused(
    data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Unless it is a copy: Hydra would read the one that comes with flybench."""
    (data / "own" / "method" / "bad.yaml").unlink()
    copied = (conf_dir() / "method" / "spd.yaml").read_text()
    own = data / "own" / "method" / "spd.yaml"
    own.write_text("# A copy.\n" + copied)
    assert "spd" in options("method", data / "own")
    own.write_text(copied.replace("k: 8", "k: 3"))
    for words in (["list", "methods"], ["run", "model=random", "method=spd"]):
        assert main([*words, "--config-dir", "own"]) == 2
        assert (
            "own/method/spd.yaml has the same name as a built-in method" in capfd.readouterr().err
        )


def test_own_paths_alone_make_a_pair(data: Path) -> None:
    paths = ["model.target.path=random:qwen3", "model.draft.path=random:qwen3:1"]
    assert main(["run", *paths, "task.path=demo.jsonl", "limit=1", *SMALL[1:]]) == 0
    assert list(Path("results").glob("qwen3+1-fly-demo-*"))


def test_every_shipped_file_says_what_it_is() -> None:
    for group in GROUPS:
        names = options(group)
        assert names
        if group in ("model", "method", "task"):
            assert all(names.values()), group
    assert (conf_dir() / "config.yaml").is_file()


def test_doctor_answers(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    printed = capfd.readouterr().out
    assert "torch" in printed
    assert "network_off" in printed
    assert "demo: built in" in printed


@pytest.mark.parametrize("damage", ["{", "[]", "{}"])
def test_a_damaged_provenance_is_one_sentence(
    data: Path, capfd: pytest.CaptureFixture[str], damage: str
) -> None:
    assert run("limit=1") == 0
    (folder,) = Path("results").glob("random-fly-demo-*")
    (folder / "provenance.json").write_text(damage)
    capfd.readouterr()
    for verb in ("score", "report"):
        assert main([verb, str(folder)]) == 2
        assert "provenance.json" in capfd.readouterr().err


def test_an_unexpected_error_hides_its_traceback_and_names_the_switch(
    data: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flybench.run.plan.make_plan", lambda config, describe: 1 / 0)
    assert run("limit=1") == 2
    said = capfd.readouterr().err
    assert "ZeroDivisionError" in said
    assert "FLYBENCH_DEBUG=1" in said
    assert "Traceback" not in said
