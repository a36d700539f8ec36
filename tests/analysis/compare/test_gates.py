"""A gate holds or breaks by the whole interval, and says how many samples would tell."""

from __future__ import annotations

import re

import pytest

from flybench.analysis.compare.figures import Accuracy, ComparedFigure
from flybench.analysis.compare.gates import (
    Gate,
    despite_failures,
    exit_code,
    retention_gate,
    speed_gate,
)
from flybench.metrics.stats import Interval, Pairs, retention_interval, samples_needed


def figure(point: float, low: float, high: float, n: int = 40) -> ComparedFigure:
    return ComparedFigure(n, 1.0, point, point, Interval(low, high))


def judged(pairs: Pairs) -> Accuracy:
    before = [1.0] * (pairs.both + pairs.lost) + [0.0] * (pairs.won + pairs.neither)
    after = [1.0] * pairs.both + [0.0] * pairs.lost + [1.0] * pairs.won + [0.0] * pairs.neither
    point = sum(after) / sum(before) if sum(before) else None
    retention = ComparedFigure(sum(pairs), None, None, point, retention_interval(before, after))
    return Accuracy(sum(pairs), sum(before), sum(after), retention, pairs, None)


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (1.0, 1.2, "holds"),
        (0.9, 0.99, "broken"),
        (0.99, 1.2, "not resolved"),
        (0.9, 1.0, "not resolved"),
    ],
)
def test_the_end_of_the_interval_decides(low: float, high: float, state: str) -> None:
    assert speed_gate("speed", figure((low + high) / 2, low, high), 1.0).state == state


def test_samples_that_would_tell_do_tell() -> None:
    """At the number that is named, the interval is narrow enough for a bar at its reach."""
    for n in (40, 400):
        gate = speed_gate("speed", figure(1.05, 0.95, 1.16, n), 1.0)
        (needed,) = re.findall(r"n ≥ ([\d,]+)", gate.text)
        shrunk = (n / int(needed.replace(",", ""))) ** 0.5
        assert 1.05 * (0.95 / 1.05) ** shrunk > 1.0
        assert int(needed.replace(",", "")) > n


def test_a_figure_on_its_bar_cannot_be_told_from_it() -> None:
    assert "over 1,000,000,000 samples" in speed_gate("s", figure(1.0, 0.9, 1.1), 1.0).text


def test_retention_plans_as_flybench_power_does() -> None:
    pairs = Pairs(93, 3, 3, 37)
    gate = retention_gate(judged(pairs), 0.01)
    assert gate.state == "not resolved"
    assert f"n ≥ {samples_needed(pairs, 0.01, 0.8):,}" in gate.text


def test_a_clear_loss_is_broken_and_a_clear_win_holds() -> None:
    assert retention_gate(judged(Pairs(20, 60, 0, 20)), 0.01).state == "broken"
    assert retention_gate(judged(Pairs(60, 0, 30, 10)), 0.01).state == "holds"


@pytest.mark.parametrize("pairs", [Pairs(0, 0, 0, 50), Pairs(3, 1, 0, 50)])
def test_without_right_answers_nothing_is_shown(pairs: Pairs) -> None:
    gate = retention_gate(judged(pairs), 0.01)
    assert gate.state == "not resolved"
    assert "too few" in gate.text


def test_failures_keep_a_gate_from_holding() -> None:
    holds, broken = Gate("x", "holds", ""), Gate("x", "broken", "")
    assert despite_failures(holds, 0) == holds
    assert despite_failures(holds, 2).state == "not resolved"
    assert despite_failures(broken, 2) == broken


def test_exit_codes() -> None:
    holds, broken, unresolved = (
        Gate("", state, "") for state in ("holds", "broken", "not resolved")
    )
    assert exit_code([]) == exit_code([holds]) == 0
    assert exit_code([unresolved, broken, holds]) == 1
    assert exit_code([holds, unresolved]) == 3
