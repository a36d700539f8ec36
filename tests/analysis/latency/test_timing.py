"""Repeats and spreads on a clock that is made up."""

from __future__ import annotations

import pytest

from flybench.analysis.latency.sweep import BASE, CONTEXTS, PassShape, points
from flybench.analysis.latency.timing import BUDGET_S, Effort, TimingStats, effort, time_calls
from tests.helpers.measurements import FakeClock

EFFORT = Effort(warmup=2, least=3, most=5, seconds=10, rounds=1)


def calls(clock: FakeClock, spent: Effort = EFFORT) -> tuple[int, TimingStats]:
    done = []
    found = time_calls(lambda: done.append(1), clock, spent)
    return len(done), found


def test_quick_work_is_repeated_to_the_full() -> None:
    assert calls(FakeClock(1, 2, 1, 3, 2)) == (7, TimingStats(2, 1, pytest.approx(2.6), 5))


def test_slow_work_ends_with_its_share_of_the_budget() -> None:
    assert calls(FakeClock(2.6))[1].repeats == 4
    assert calls(FakeClock(100))[1] == TimingStats(100, 100, 100, 3)


def test_the_budget_is_shared_among_all_figures() -> None:
    assert effort("cpu", 30).seconds == effort("cuda", 30).seconds == BUDGET_S / 30
    assert f"a share of {BUDGET_S:g} s" in str(effort("cpu", 30))


def test_one_axis_is_varied_at_a_time() -> None:
    everything = points(15)
    assert everything[0] == BASE
    assert all(point.varied == "base" or vary(point) == {point.varied} for point in everything)
    assert len(set(everything)) == len(everything) == 1 + 6 + 3 + 3
    assert max(CONTEXTS) + 1 == 8192


def test_the_pass_of_a_whole_draft_is_among_the_widths() -> None:
    widths = [point.width for point in points(5) if point.varied == "width"]
    assert widths == [2, 4, 6, 8, 16, 32, 64]
    assert [point.width for point in points(0) if point.varied == "width"] == [2, 4, 8, 16, 32, 64]


def vary(point: PassShape) -> set[str]:
    return {name for name in ("width", "context", "batch") if vars(point)[name] != vars(BASE)[name]}
