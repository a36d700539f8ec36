"""Ratios over tiny counts: left out, named, and counted as they should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from flybench.metrics.summary import summarise
from flybench.metrics.suppression import DENOMINATORS, MIN_COUNT
from flybench.run.headline import headline
from tests.helpers import hand_built
from tests.helpers.synthetic import write_run


def test_ratios_over_a_handful_are_left_out_and_named(tmp_path: Path) -> None:
    records = hand_built.ar_records() + hand_built.fly_records()
    ar, fly = summarise(hand_built.write(tmp_path, records, hand_built.scores()))
    assert fly["too_few"] == {
        "retention": 1,
        "tau_pooled": 4,
        "tau_mean": 4,
        "loose_improbable": 1,
    }
    assert [fly[name] for name in fly["too_few"]] == [None] * 4
    assert (fly["retention_ci"], fly["retention_verdict"]) == (None, "not resolved")
    assert fly["accept_rate"] == 0.5 and fly["speedup_throughput"] == 3.6
    assert ar["too_few"] == {}


@pytest.mark.parametrize("n", [1, 2])
def test_a_speed_up_of_one_sample_has_no_interval_and_is_not_given(tmp_path: Path, n: int) -> None:
    _, fly = rows = summarise(write_run(tmp_path / "run", n))
    for name in ("speedup_throughput", "speedup_latency"):
        assert (fly[name] is None) == (n == 1)
        assert fly["too_few"].get(name) == (1 if n == 1 else None)
    assert ("too few (n=1)" in headline(rows)) == (n == 1)


@pytest.mark.parametrize("solved", [0, MIN_COUNT - 1, MIN_COUNT])
def test_retention_needs_answers_that_ar_solved(tmp_path: Path, solved: int) -> None:
    rows = summarise(write_run(tmp_path / "run", 40, right=solved / 40))
    known = solved >= MIN_COUNT
    assert (rows[1]["retention"] is not None) == known
    assert rows[1]["too_few"] == ({} if known else {"retention": solved})
    assert (f"too few (n={solved})" in headline(rows)) != known


def test_every_guarded_figure_is_in_a_row(tmp_path: Path) -> None:
    assert set(DENOMINATORS) < set(summarise(write_run(tmp_path / "run", 3))[0].plain())
