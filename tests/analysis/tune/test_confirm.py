"""What real runs decide: looks, states, and the sentence that follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flybench.analysis.tune.confirm import CandidateResult, _state, sizes
from flybench.analysis.tune.recommendation import recommend
from flybench.analysis.tune.search_space import EXACT, method_of
from flybench.config import DraftConfig, MethodConfig, VerifyConfig
from flybench.metrics.paired import Estimate
from flybench.metrics.stats import Interval, Pairs
from flybench.records.folder import RunFolder

MODEL = DraftConfig.of("model")
SPD = method_of(MODEL, EXACT, 8)


def fly(theta: float) -> MethodConfig:
    return method_of(MODEL, VerifyConfig.of("fly", theta=theta, window=2), 8)


def finding(method: MethodConfig, **changed: Any) -> CandidateResult:
    """A loose setting that is a third faster and keeps the accuracy, unless something `changed`."""
    known: dict[str, Any] = {
        **{"speedup": 2.0, "speedup_ends": Interval(1.8, 2.2), "gain": 1.3},
        **{"gain_ends": Interval(1.2, 1.4), "retention": 1.0},
        **{"retention_ends": Interval(0.995, 1.005), "pairs": Pairs(90, 0, 0, 10)},
        **{"length_ratio": 1.0, "state": "confirmed", "n": 100, "level": 0.98},
        **{"failed": 0, "judged": 100, "solved": 90.0},
    }
    known |= changed
    for name in ("speedup", "gain", "retention"):
        ends = known.pop(f"{name}_ends")
        known[name] = Estimate(known["n"], known[name], ends, known["level"])
    return CandidateResult(method=method, folder=RunFolder(Path("run")), **known)


EXACT_ONE = finding(SPD, gain=1.0, gain_ends=Interval(1, 1), state="exact")


def test_samples_double_from_look_to_look() -> None:
    assert sizes(100, 3) == [25, 50, 100]
    assert sizes(5, 3) == [2, 3, 5]
    assert sizes(4, 1) == [4]


def estimate(ends: Interval | None) -> Estimate:
    return Estimate(100, None if ends is None else sum(ends) / 2, ends)


FAST, SLOW, OPEN = Interval(1.1, 1.3), Interval(0.8, 0.9), Interval(0.9, 1.1)


@pytest.mark.parametrize(
    ("faster", "gained", "kept", "state"),
    [
        (FAST, FAST, "kept", "confirmed"),
        (FAST, FAST, "lost", "loses accuracy"),
        (FAST, SLOW, "kept", "not faster"),
        (SLOW, FAST, "kept", "not faster"),  # than AR, however slow the exact setting is
        (FAST, SLOW, "lost", "loses accuracy"),
        (FAST, OPEN, "kept", "not resolved"),
        (OPEN, FAST, "kept", "not resolved"),
        (FAST, FAST, "not resolved", "not resolved"),
        (FAST, None, "kept", "not resolved"),
        (None, None, "kept", "not resolved"),
    ],
)
def test_intervals_decide(faster: Any, gained: Any, kept: Any, state: str) -> None:
    assert _state(estimate(faster), estimate(gained), kept, failed=False) == state


def test_a_setting_that_failed_where_ar_did_not_is_never_confirmed() -> None:
    assert _state(estimate(FAST), estimate(FAST), "kept", failed=True) == "not resolved"
    failed = finding(fly(0.3), failed=3, state="not resolved")
    assert "3 samples failed" in recommend([EXACT_ONE, failed], 0.01).sentences[1]


def test_the_fastest_confirmed_setting_is_recommended() -> None:
    slow, fast = finding(fly(0.3)), finding(fly(0.1), gain=1.5)
    found = recommend([EXACT_ONE, slow, fast], 0.01)
    assert found.method == fast.method and found.resolved
    assert found.sentences[0].startswith("Recommended: fly_no_lookup (official rule, k=8 theta=0.1")
    assert "2.00 [1.80,\u00a02.20] times as fast as AR" in found.sentences[0]


def test_a_setting_that_may_be_faster_still_keeps_it_open() -> None:
    sure = finding(fly(0.3), gain=1.1)
    rival = finding(fly(0.1), gain_ends=Interval(1.5, 1.9), state="not resolved")
    beaten = finding(fly(0.6), gain_ends=Interval(0.9, 1.05), state="not resolved")
    assert not recommend([EXACT_ONE, sure, rival], 0.01).resolved
    assert recommend([EXACT_ONE, sure, beaten], 0.01).resolved


def test_without_a_confirmed_one_the_exact_setting_is_recommended() -> None:
    lossy = finding(fly(0.3), state="loses accuracy", retention=0.8)
    found = recommend([EXACT_ONE, lossy], 0.01)
    assert found.method == SPD and found.resolved
    assert "loses more than 1.0" in found.sentences[1]


def test_ar_is_recommended_where_the_exact_setting_is_slower() -> None:
    slow = finding(SPD, speedup=0.8, speedup_ends=Interval(0.7, 0.9), state="exact")
    found = recommend([slow], 0.01)
    assert found.method is None and found.resolved
    doubtful = finding(SPD, speedup=0.98, speedup_ends=Interval(0.9, 1.1), state="exact")
    found = recommend([doubtful], 0.01)
    assert found.method is None and not found.resolved
    assert "needs n ≥" in found.sentences[0]


def test_what_the_data_cannot_tell_says_how_many_samples_would() -> None:
    wide = finding(fly(0.3), retention_ends=Interval(0.9, 1.1), state="not resolved")
    found = recommend([EXACT_ONE, wide], 0.01)
    assert not found.resolved and found.method == SPD
    assert "not resolved, needs n ≥" in found.sentences[1]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"pairs": Pairs(0, 0, 0, 100), "solved": 0.0}, "AR solved 0 of 100, too few"),
        ({"pairs": None, "solved": 2.5}, "AR solved 2.5 of 100, too few"),  # graded
        ({"pairs": None, "judged": 0}, "no answer was scored"),
        ({"pairs": None, "judged": 0, "n": 0}, "no sample was finished"),
    ],
)
def test_what_more_samples_of_its_kind_may_not_tell_names_no_number(
    changed: dict[str, Any], said: str
) -> None:
    nothing = {"retention": None, "retention_ends": None, "state": "not resolved"}
    found = recommend([EXACT_ONE, finding(fly(0.3), **nothing, **changed)], 0.01)
    assert said in found.sentences[1] and "n ≥" not in found.sentences[1]
    assert not found.resolved


def test_an_exact_setting_that_lost_is_not_recommended_without_a_word() -> None:
    lossy = finding(SPD, state="exact", retention=0.9, retention_ends=Interval(0.85, 0.95))
    assert "should lose no accuracy" in recommend([lossy], 0.01).sentences[1]


def test_no_finished_sample_recommends_ar() -> None:
    nothing = dict.fromkeys(("speedup", "speedup_ends", "gain", "gain_ends", "retention_ends"))
    found = recommend([finding(SPD, state="exact", n=0, **nothing)], 0.01)
    assert found.method is None and not found.resolved
    assert found.sentences == ["Recommended: ar, because no sample was finished."]
