"""How long a sweep will take: from its own answers, like runs, a measurement, or not at all."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

from flybench.analysis import estimate as estimate_module
from flybench.analysis.estimate import TimeEstimate, estimates
from flybench.cli.main import main
from flybench.config.compose import cells, parse_request
from flybench.records.folder import RunFolder
from flybench.run.plan import Plan, make_plan

SMALL = ["model=random", "task=demo", "method.k=3", "task.max_new_tokens=6"]


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def planned(*arguments: str) -> dict[int, Plan]:
    return dict(enumerate(map(make_plan, cells(parse_request(["-m", *SMALL, *arguments])))))


def took(path: Path, method: str) -> float:
    records = RunFolder(path).records().items()
    return mean(record.turns[0].total_s for key, record in records if key[1] == method)


def test_without_a_measurement_there_is_no_estimate() -> None:
    assert estimates(planned("method=spd", "limit=2")) == {0: TimeEstimate(None, "unknown")}


def test_a_cell_knows_from_its_own_answers_and_others_from_runs_like_them() -> None:
    assert main(["run", *SMALL, "method=spd", "limit=1"]) == 0
    (path,) = Path("results").glob("random-spd-*")
    ar, spd = took(path, "ar"), took(path, "spd")
    found = estimates(planned("method=spd", "limit=3"))
    assert found[0].source == "own answers"
    assert found[0].seconds == pytest.approx(2 * (ar + spd))
    assert estimates(planned("method=spd", "limit=1")) == {0: TimeEstimate(0, "nothing left")}
    (other,) = estimates(planned("method=spd", "method.k=4", "limit=3")).values()
    assert other.source == "other runs"
    assert other.seconds == pytest.approx(3 * (ar + spd))


def test_what_cells_share_counts_once() -> None:
    assert main(["run", *SMALL, "method=spd", "limit=1"]) == 0
    (path,) = Path("results").glob("random-spd-*")
    ar, spd = took(path, "ar"), took(path, "spd")
    first, second = estimates(planned("method=spd", "method.k=4,5", "limit=2")).values()
    assert first.seconds == pytest.approx(2 * (ar + spd))
    assert second.seconds == pytest.approx(2 * spd)
    (lookup,) = estimates(planned("method=lookup", "limit=2")).values()
    assert lookup.source == "AR's answers"
    assert lookup.seconds == pytest.approx(2 * (ar + ar))


def test_a_measurement_of_the_pair_serves_where_no_run_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(estimate_module, "_step", lambda plan: 0.5)
    (found,) = estimates(planned("method=spd", "limit=2")).values()
    # Two samples of one turn or more, each of AR and of the method, six tokens a turn.
    turns = sum(1 + len(p.followups) for p in planned("method=spd", "limit=2")[0].prompts)
    assert found == TimeEstimate(0.5 * 6 * 2 * turns, "latency")


def test_another_task_or_machine_tells_nothing() -> None:
    assert main(["run", *SMALL, "method=spd", "limit=1"]) == 0
    (path,) = Path("results").glob("random-spd-*")
    folder = RunFolder(path)
    (longer,) = estimates(planned("method=spd", "limit=1", "task.max_new_tokens=7")).values()
    assert longer.source == "unknown"
    folder.amend(device="another card")
    (elsewhere,) = estimates(planned("method=spd", "method.k=4", "limit=1")).values()
    assert elsewhere.source == "unknown"


def test_the_step_is_read_from_a_latency_file() -> None:
    assert main(["latency", "model=random", "method=lookup", "method.k=3"]) == 0
    (plan,) = planned("method=lookup", "limit=1").values()
    (found,) = estimates({0: plan}).values()
    assert found.source == "latency"
    assert 0 < (found.seconds or 0) < 60
