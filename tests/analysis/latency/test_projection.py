"""Projections against figures by hand, and whose costs they take."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flybench.analysis.latency.costs import measured_costs, read_costs, recorded_costs
from flybench.analysis.latency.projection import project, projection, same_model
from flybench.core.errors import FlybenchError
from flybench.metrics.frames import round_frame
from flybench.records.folder import RunFolder
from tests.helpers import hand_built
from tests.helpers.measurements import result
from tests.helpers.toys import assert_one_sentence

METHOD: dict[str, Any] = {
    "name": "fly", "k": 4, "draft": {"kind": "model"}, "verify": {"kind": "fly"},
}  # fmt: skip
KNOWN = hand_built.PROVENANCE | {
    "models": {"target": {"path": "tiny-target", "skip_layers": None}, "draft": None},
    "method_config": METHOD,
}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    records = hand_built.ar_records() + hand_built.fly_records()
    made = hand_built.write(tmp_path / "run", records, [])
    made.write_json("provenance.json", KNOWN)
    made.write("config.yaml", "engine: {dtype: null}")
    return made


def costs_file(tmp_path: Path, name: str = "a", age: int = 0, **changes: Any) -> Path:
    path = tmp_path / f"latency-{name}" / "latency.json"
    path.parent.mkdir()
    path.write_text(json.dumps(result(**changes)))
    os.utime(path, (1e9 - age, 1e9 - age))
    return path


def seconds(drafted: int, method: dict[str, Any], folder: RunFolder, **changes: Any) -> float:
    costs = measured_costs(result(**changes), "here", method, round_frame(folder, "fly"))
    return float(costs.seconds(np.array([drafted], dtype=float), method["k"])[0])


def test_a_round_by_hand(folder: RunFolder) -> None:
    """A draft of n at 1/4 s a token, a pass between 4 and 16 tokens, a verdict, and the rest."""
    assert seconds(3, METHOD, folder) == pytest.approx(3 / 4 + 1.3 + 0.02 + 0.05)
    assert seconds(4, METHOD, folder) == pytest.approx(4 / 4 + 1.4 + 0.02 + 0.05)
    assert seconds(0, METHOD, folder) == pytest.approx(1.0 + 0.02 + 0.05)
    exact = METHOD | {"verify": {"kind": "exact"}}
    assert seconds(3, exact, folder) == pytest.approx(3 / 4 + 1.3 + 0.01 + 0.05)


def test_a_padded_engine_verifies_in_two_widths(folder: RunFolder) -> None:
    assert seconds(2, METHOD, folder, engine_kind="graph") == pytest.approx(2 / 4 + 1.4 + 0.07)
    assert seconds(0, METHOD, folder, engine_kind="graph") == pytest.approx(1.0 + 0.07)


def test_drafting_without_a_model_costs_what_was_recorded(folder: RunFolder) -> None:
    """Four rounds that drafted for one second."""
    lookup = METHOD | {"draft": {"kind": "lookup"}}
    assert seconds(3, lookup, folder, draft=None) == pytest.approx(0.25 + 1.3 + 0.02 + 0.05)


def test_a_projection_by_hand(folder: RunFolder) -> None:
    """9 tokens in 4 rounds of 2.12 s; AR takes 1 + 0.01 + 0.01 + 0.03 s a token."""
    plain, rounds = round_frame(folder, "ar"), round_frame(folder, "fly")
    costs = measured_costs(result(), "here", METHOD, rounds)
    _, point, ends, _ = projection(plain, rounds, costs, 4)
    assert point == pytest.approx(9 / (4 * 2.12) * 1.05)
    assert ends is not None
    assert ends.low <= point <= ends.high


def test_a_run_explains_itself(folder: RunFolder) -> None:
    """Its own mean times give the ratio of its own sums, over samples of both."""
    plain, rounds = round_frame(folder, "ar"), round_frame(folder, "fly")
    costs = recorded_costs(plain, rounds, METHOD)
    point = projection(plain, rounds, costs, 4).point
    assert point == pytest.approx(9 / (1.0 + 4 * 0.1875) * 0.375)


def test_the_newest_costs_of_the_same_pair_and_machine_are_taken(
    folder: RunFolder, tmp_path: Path
) -> None:
    costs_file(tmp_path, "old", 9)
    wanted = costs_file(tmp_path, "wanted", 5)
    costs_file(tmp_path, "device", 4, device="another CPU")
    costs_file(tmp_path, "dtype", 3, dtype="bf16")
    costs_file(tmp_path, "engine", 2, engine="graph")
    costs_file(tmp_path, "model", 1, model="another")
    costs_file(tmp_path, "damaged", 0).write_text("{")
    costs_file(tmp_path, "of a lookup", 0, draft=None)
    said = project(folder, None, force=False)
    assert str(wanted) in said
    assert "speed-up (projection)" in said
    assert "(tiny on a CPU, engine eager, own weights)" in said
    assert "context of 256 tokens" in said
    (line,) = [line for line in said.splitlines() if line.startswith("fly")]
    assert "too few (n=4)" in line  # rounds, for tau
    assert "3.0" in line
    assert error_of(said).startswith(("+", "-"))


def error_of(said: str) -> str:
    """The last column of the line of fly, without its unit."""
    (line,) = [line for line in said.splitlines() if line.startswith("fly")]
    return line.removesuffix(" %").split()[-1]


def test_without_costs_the_run_own_times_are_named(folder: RunFolder) -> None:
    assert "costs of the run's own recorded times" in project(folder, None, force=False)


def test_costs_of_another_pair_are_refused_unless_meant(folder: RunFolder, tmp_path: Path) -> None:
    path = costs_file(tmp_path, model="another")
    with pytest.raises(FlybenchError) as caught:
        project(folder, path, force=False)
    assert_one_sentence(caught.value, "another", "tiny", "--force")
    said = project(folder, path, force=True)
    assert f"{path} (another on a CPU" in said
    assert error_of(said) == "—", "what another pair costs explains nothing of this run"
    models = result()["models"]
    models["target"]["path"] = "other-target"
    with pytest.raises(FlybenchError):
        project(folder, costs_file(tmp_path, "b", models=models), force=False)


def test_other_machines_are_projected_but_not_compared(folder: RunFolder, tmp_path: Path) -> None:
    said = project(folder, costs_file(tmp_path, device="a GPU").parent, force=False)
    assert error_of(said) == "—"


def test_what_is_assumed_is_said(folder: RunFolder, tmp_path: Path) -> None:
    folder.write_json(
        "provenance.json", KNOWN | {"method_config": METHOD | {"draft": {"kind": "nested"}}}
    )
    said = project(folder, costs_file(tmp_path, engine_kind="graph"), force=False)
    assert "lookup saves none" in said
    assert "a pass of full width" in said


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"draft": None, "verdicts": None}, ("method=fly", "flybench latency")),
        ({"draft": None}, ("has no costs for fly",)),
        ({"points": result()["points"][1:]}, ("has no costs for fly",)),
        (
            {"points": result()["points"][:2]},
            ("passes of up to 2 tokens", "this run has 4", "method.k=4"),
        ),
    ],
)
def test_costs_that_lack_a_part_are_refused(
    folder: RunFolder, tmp_path: Path, changes: dict[str, Any], parts: tuple[str, ...]
) -> None:
    with pytest.raises(FlybenchError) as caught:
        project(folder, costs_file(tmp_path, **changes), force=False)
    assert_one_sentence(caught.value, *parts)


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_what_is_no_measurement_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "latency.json"
    path.write_text(text)
    for given in (path, tmp_path, tmp_path / "nowhere"):
        with pytest.raises(FlybenchError) as caught:
            read_costs(given)
        assert_one_sentence(caught.value, str(given), "latency.json")


def test_a_run_without_pairs_is_refused(tmp_path: Path) -> None:
    made = hand_built.write(tmp_path / "run", hand_built.ar_records(), [])
    made.write_json("provenance.json", KNOWN)
    made.write("config.yaml", "engine: {}")
    with pytest.raises(FlybenchError) as caught:
        project(made, None, force=False)
    assert_one_sentence(caught.value, "no sample that both")


def test_layers_are_alike_in_python_and_in_json() -> None:
    """A plan's own layers are a tuple, which JSON gives back as a list."""
    of = {"path": "m", "skip_layers": (1, 2), "quantize": None}
    found = {"model": "m", "models": {"target": of | {"skip_layers": [1, 2]}}}
    assert same_model(found, {"model": "m", "models": {"target": of}})
    assert not same_model(found, {"model": "m", "models": {"target": of | {"skip_layers": (1,)}}})
