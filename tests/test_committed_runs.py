"""Runs from earlier versions: read, summarised and compared as before, under the same keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flybench.cli.main import main
from flybench.config import digest
from flybench.metrics.summary import summarise
from flybench.records.folder import RunFolder

RESULTS = Path(__file__).parents[1] / "results"
# A run continues in its folder only as long as its settings are hashed to the same key.
KEYS = {
    "smollm2-fly-gsm8k-5ea381e9": "99c7a47df5dbce73",
    "smollm2-eagle3-gsm8k-803c0c81": "3eca0318356589c5",
    "smollm2-lookup-gsm8k-d3282e97": "54fe0b1232fa79fc",
    "qwen25_coder-spd-humaneval-d38ed5bb": "c235524e9d75d0bf",
}


@pytest.mark.parametrize("name", KEYS)
def test_settings_have_the_same_key(name: str) -> None:
    assert digest(RunFolder(RESULTS / name).config().identity())[:16] == KEYS[name]


@pytest.mark.parametrize("name", KEYS)
def test_records_have_the_same_summary(name: str) -> None:
    folder = RunFolder(RESULTS / name)
    found = [json.loads(json.dumps(row.plain())) for row in summarise(folder)]
    assert found == folder.read_json("summary.json")


def test_two_runs_compare_as_before(tmp_path: Path) -> None:
    """The figures were printed by an earlier version."""
    file = tmp_path / "figures.json"
    names = ("smollm2-lookup-gsm8k-d3282e97", "smollm2-fly-gsm8k-5ea381e9")
    runs = [str(RESULTS / name) for name in names]
    assert main(["compare", *runs, "--json", str(file)]) == 0
    found = json.loads(file.read_text())
    speed, tau = (found["figures"][name] for name in ("tokens/s", "tau, tokens a round"))
    assert (found["shared"], speed["n"]) == (200, 200)
    assert [speed["a"], speed["b"]] == pytest.approx([1753.9122713688864, 1962.1109298138874])
    assert speed["interval"] == pytest.approx([0.96139098384428, 1.2890561560394698])
    assert [tau["a"], tau["b"]] == pytest.approx([2.560570824524313, 6.670380927701477])
