"""Sentences and rows on where the time goes, and on what bounds the baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flybench.report.group import Group, groups
from flybench.report.run import load
from flybench.report.tables import costs
from tests.helpers.synthetic import PROVENANCE, write_run


def group(path: Path, share: float | None = None, **options: Any) -> Group:
    """A run whose AR (some 100 tokens/s) reaches about `share` of the bandwidth."""
    if share is not None:
        models = {
            name: {"weight_bytes": weights, "kv_bytes_per_token": 0}
            for name, weights in {"target": 10**9, "draft": 10**8}.items()
        }
        call = PROVENANCE["invocations"][0] | {"environment": {"device": "CPU"}}
        known = models | {"read_bandwidth": 1e11 / share}
        options["invocations"] = [call | {"costs": known}]
    return groups(load([write_run(path / "run", 3, **options)]))[0]


def test_parts_stand_beside_the_measured_speedup(tmp_path: Path) -> None:
    table = costs.rounds(group(tmp_path))
    assert table is not None
    ar, fly = ([cell.text for cell in row] for row in table.rows)
    labels = [column.label for column in table.columns]
    assert labels[-2:] == ["speed-up, modelled", "speed-up, throughput"]
    assert ar[0] == "ar" and ar[-2:] == ["—", "—"]
    assert fly[-2] == fly[-1] != "—"


def test_the_largest_part_is_named(tmp_path: Path) -> None:
    [text] = costs.sentences(group(tmp_path))
    assert "Verification takes the largest share, 55.0\u00a0%." in text
    assert "drafting (8.0 tokens at 0." in text
    assert text.endswith("×.")


def test_time_outside_the_rounds_is_said(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 3)
    text = folder.records_file.read_text().replace('"total_s": 0.', '"total_s": 1.')
    folder.records_file.write_text(text)
    [sentence] = costs.sentences(*groups(load([folder])))
    assert sentence.endswith("the difference is time spent outside these phases.")


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.8, "bandwidth-bound: a draft token costs about the draft model's share of the bytes"),
        (0.2, "of the memory bandwidth and is therefore overhead-bound"),
    ],
)
def test_the_regime_is_explained(tmp_path: Path, share: float, words: str) -> None:
    [text] = costs.regimes(group(tmp_path, share))
    assert text.startswith("AR on sums, tiny reaches ")
    assert words in text
    assert ("expected from bytes: 0.100" in text) == (share < 0.5)


def test_one_sided_runs_compare_nothing(tmp_path: Path) -> None:
    assert costs.sentences(group(tmp_path / "a", method="ar")) == []
    assert costs.sentences(group(tmp_path / "b", baseline=False)) == []
    assert costs.rounds(group(tmp_path / "c", baseline=False)) is None
    assert costs.rounds(group(tmp_path / "d", failing="boom")) is None
