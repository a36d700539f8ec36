"""What real runs decide: looks, states, and the sentence that follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flybench.config import DraftConfig, MethodConfig, VerifyConfig
from flybench.records import RunFolder
from flybench.stats import Interval, Pairs
from flybench.tune.confirm import Finding, _state, sizes
from flybench.tune.settings import EXACT, method_of
from flybench.tune.verdict import verdict

MODEL = DraftConfig("model")
SPD = method_of(MODEL, EXACT, 8)


def fly(theta: float) -> MethodConfig:
    return method_of(MODEL, VerifyConfig("fly", theta=theta, window=2), 8)


def finding(method: MethodConfig, **changed: Any) -> Finding:
    """A loose setting that is a third faster and keeps the accuracy, unless something `changed`."""
    known: dict[str, Any] = {
        **{"speedup": 2.0, "speedup_ends": Interval(1.8, 2.2), "gain": 1.3},
        **{"gain_ends": Interval(1.2, 1.4), "retention": 1.0},
        **{"retention_ends": Interval(0.995, 1.005), "pairs": Pairs(90, 0, 0, 10)},
        **{"length_ratio": 1.0, "state": "confirmed", "n": 100, "level": 0.98},
    }
    return Finding(method=method, folder=RunFolder(Path("run")), **(known | changed))


EXACT_ONE = finding(SPD, gain=1.0, gain_ends=Interval(1, 1), state="lossless")


def test_samples_double_from_look_to_look() -> None:
    assert sizes(100, 3) == [25, 50, 100]
    assert sizes(5, 3) == [2, 3, 5]
    assert sizes(4, 1) == [4]


@pytest.mark.parametrize(
    ("gain", "kept", "state"),
    [
        ((1.1, 1.3), (0.995, 1.01), "confirmed"),
        ((1.1, 1.3), (0.9, 0.98), "loses accuracy"),
        ((0.8, 0.9), (0.995, 1.01), "not faster"),
        ((0.8, 0.9), (0.9, 0.98), "loses accuracy"),
        ((0.9, 1.1), (0.995, 1.01), "not resolved"),
        ((1.1, 1.3), (0.95, 1.05), "not resolved"),
        ((1.1, 1.3), None, "not resolved"),
        (None, (0.995, 1.01), "not resolved"),
    ],
)
def test_an_interval_decides(gain: Any, kept: Any, state: str) -> None:
    ends = [None if pair is None else Interval(*pair) for pair in (gain, kept)]
    assert _state(ends[0], ends[1], 0.01) == state


def test_the_fastest_confirmed_setting_is_recommended() -> None:
    slow, fast = finding(fly(0.3)), finding(fly(0.1), gain=1.5)
    found = verdict([EXACT_ONE, slow, fast], 0.01)
    assert found.method == fast.method and found.resolved
    assert found.sentences[0].startswith("Recommended: fly_no_lookup (official rule, k=8 theta=0.1")


def test_without_a_confirmed_one_the_exact_setting_is_recommended() -> None:
    lossy = finding(fly(0.3), state="loses accuracy", retention=0.8)
    found = verdict([EXACT_ONE, lossy], 0.01)
    assert found.method == SPD and found.resolved
    assert "loses more than 1.0" in found.sentences[1]


def test_ar_is_recommended_where_the_exact_setting_is_slower() -> None:
    slow = finding(SPD, speedup=0.8, speedup_ends=Interval(0.7, 0.9), state="lossless")
    found = verdict([slow], 0.01)
    assert found.method is None and found.resolved
    doubtful = finding(SPD, speedup=0.98, speedup_ends=Interval(0.9, 1.1), state="lossless")
    found = verdict([doubtful], 0.01)
    assert found.method is None and not found.resolved
    assert "needs n ≥" in found.sentences[0]


def test_what_the_data_cannot_tell_says_how_many_samples_would() -> None:
    wide = finding(fly(0.3), retention_ends=Interval(0.9, 1.1), state="not resolved")
    found = verdict([EXACT_ONE, wide], 0.01)
    assert not found.resolved and found.method == SPD
    assert "not resolved, needs n ≥" in found.sentences[1]


def test_no_number_of_samples_is_named_where_ar_solves_none() -> None:
    nothing = {"retention": None, "retention_ends": None, "state": "not resolved"}
    unsolved = finding(fly(0.3), pairs=Pairs(0, 0, 0, 100), **nothing)
    unjudged = finding(fly(0.1), pairs=None, **nothing)
    found = verdict([EXACT_ONE, unsolved, unjudged], 0.01)
    assert "AR solved 0 of 100" in found.sentences[1] and "n ≥" not in found.sentences[1]
    assert "nothing says which answers are right" in found.sentences[2]
