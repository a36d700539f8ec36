"""The table of clocks, power and energy, and the note on throttling."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from flybench.core.samples import GpuState, Telemetry
from flybench.report import write_report
from flybench.report.findings.verdict import verdicts
from flybench.report.group import groups
from flybench.report.run import load
from flybench.report.tables.gpu_states import gpu_states
from tests.helpers import hand_built
from tests.helpers.synthetic import write_run

COOL = Telemetry([GpuState(0, 1980, 2619, 600.0, 60, [], 8.0)])
HOT = hand_built.telemetry()["s1"]


def test_ranges_run_over_samples_and_cards(tmp_path: Path) -> None:
    table = gpu_states(*groups(load([write_run(tmp_path / "run", 3, telemetry=HOT)])))
    assert table is not None
    ar, fly = ([cell.text for cell in row] for row in table.rows)
    # 3 answers of 40 tokens, 50 J each
    assert ar == [
        "ar", "2", "1,410 – 1,980", "2,619", "300 – 600", "60 – 88", "1.25", "3",
        "sw_power_cap 3, sw_thermal_slowdown 3",
    ]  # fmt: skip
    assert fly[0].startswith("fly") and fly[-2] == "3"


def test_what_no_card_answered_is_a_dash(tmp_path: Path) -> None:
    silent = Telemetry([GpuState(0, None, None, None, None, None, None)])
    table = gpu_states(*groups(load([write_run(tmp_path / "run", 2, telemetry=silent)])))
    assert table is not None
    assert [cell.text for cell in table.rows[0][1:]] == ["1", *["—"] * 7]


def test_no_card_no_table(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 2)
    assert gpu_states(*groups(load([folder]))) is None
    assert "No GPU telemetry was recorded" in write_report([folder], tmp_path / "out").read_text()


def test_throttling_is_said_beside_the_verdict(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 3, telemetry=COOL)
    [quiet] = verdicts(load([folder])[0])
    assert not any("throttled" in note for note in quiet.notes)
    folder.append(structs.replace(folder.records()["sums/001", "fly"], telemetry=HOT))
    [loud] = verdicts(load([folder])[0])
    [note] = [note for note in loud.notes if "throttled" in note]
    assert "(fly 1 of 3)" in note and "included in all metrics" in note
    assert "throttled at the end of some samples" in write_report([folder], tmp_path).read_text()
