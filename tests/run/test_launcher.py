"""Sweeps by Hydra's launchers: what travels together, and jobs that end as they do here."""

from __future__ import annotations

from pathlib import Path

import pytest

from flybench.cli.main import main
from flybench.config.compose import combinations, parse_request
from flybench.records.folder import RunFolder
from flybench.run.launcher import group_into_jobs
from tests.helpers.toys import assert_one_sentence

SMALL = ["model=random", "task=demo", "limit=1", "method.k=3"]
# Each on this machine alone: the name, the package that brings it, and what keeps it small.
LAUNCHERS = [
    ("joblib", "joblib", ["hydra.launcher.n_jobs=2"]),
    ("submitit_local", "submitit", ["hydra.launcher.timeout_min=5"]),
    ("ray", "ray", ["+hydra.launcher.ray.init.num_cpus=2"]),
]


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def jobs(*arguments: str) -> list[list[str]]:
    cells = combinations(parse_request(["-m", *SMALL, *arguments]))
    return [[cell.config.method.name for cell in job] for job in group_into_jobs(cells)]


def test_methods_of_one_pair_and_task_are_one_job() -> None:
    assert jobs("method=spd,lookup,fly", "method.k=7") == [["spd", "lookup", "fly"]]
    tasks = jobs("method=spd,lookup", "task.max_new_tokens=6,8")
    assert tasks == [["spd", "lookup"]] * 2
    assert len(jobs("method=spd", "sampling=t1", "seed=0,1,2")) == 3


def test_cells_of_one_folder_are_one_job() -> None:
    assert jobs("method=spd", "limit=1,2") == [["spd", "spd"]]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "extra", "settings"), LAUNCHERS)
def test_jobs_elsewhere_end_as_they_do_here(
    name: str, extra: str, settings: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """One of two jobs asks for answers that no context holds: it fails, and the other does not."""
    for package in (extra, f"hydra_plugins.hydra_{extra}_launcher"):
        pytest.importorskip(package, reason=f"needs pip install 'flybench[{extra}]'")
    swept = ["method=spd,lookup", "task.max_new_tokens=6,9000"]
    command = ["run", "-m", f"hydra/launcher={name}", *settings, *SMALL, *swept]
    assert main(command) == 2
    found = {RunFolder(path).provenance()["method"]: path for path in runs()}
    assert set(found) == {"spd", "lookup"}
    spd, lookup = (RunFolder(found[method]).records() for method in ("spd", "lookup"))
    assert [record for key, record in spd.items() if key[1] == "ar"] == [
        record for key, record in lookup.items() if key[1] == "ar"
    ]
    before = [RunFolder(path).records_file.read_text() for path in runs()]
    assert main([*command[:-1], "task.max_new_tokens=6"]) == 0
    assert [RunFolder(path).records_file.read_text() for path in runs()] == before
    assert "Holm's correction for 2 tests" in capsys.readouterr().out


def runs() -> list[Path]:
    return sorted(path.parent for path in Path("results").glob("random-*/summary.json"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hydra/launcher=joblib"], "add -m"),
        (["-m", "hydra/launcher=joblob"], "is not installed"),
        (["-m", "hydra/launcher=basic", "task.max_new_tokens=nine"], "a whole number"),
        (["hydra.run.dir=x"], "has no effect without a Hydra launcher"),
    ],
)
def test_mistakes_are_one_sentence(
    capfd: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["run", *arguments, *SMALL, "method=spd"]) == 2
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert_one_sentence(RuntimeError(line), said)
    assert not Path("results").exists()


def test_a_launcher_under_torchrun_is_refused(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["run", "-m", "hydra/launcher=joblib", *SMALL]) == 2
    assert "under torchrun" in capfd.readouterr().err
