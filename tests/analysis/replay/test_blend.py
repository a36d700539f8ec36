"""Several recordings as one estimate."""

from __future__ import annotations

import pandas as pd
import pytest

from flybench.analysis.replay.blend import blended


def table(tau: float, strayed: float, rounds: int = 10) -> pd.DataFrame:
    row = {"kind": "fly", "rule": "official", "theta": 0.3, "window": 2, "k": 8}
    return pd.DataFrame(
        [row | {"tokens": 40, "rounds": rounds, "tau": float(tau), "strayed": strayed}]
    )


def test_one_recording_is_its_own_estimate() -> None:
    pd.testing.assert_frame_equal(blended([table(4, 0.2)]), table(4, 0.2))


def test_the_nearer_text_counts_more_by_the_square() -> None:
    found = blended([table(4, 0.1), table(9, 0.2)])
    assert found["tau"].item() == pytest.approx((4 * 4 + 9) / 5)
    assert found["rounds"].dtype == int
    assert found[["kind", "theta"]].values.tolist() == [["fly", 0.3]]


def test_a_settings_own_recording_counts_alone() -> None:
    assert blended([table(4, 0.1), table(9, 0.0)])["tau"].item() == 9
    assert blended([table(4, 0.0), table(9, 0.0)])["tau"].item() == 6.5


def test_what_does_not_count_spoils_nothing() -> None:
    unknown = table(4, 0.1).assign(tau=float("nan"))
    assert blended([unknown, table(9, 0.0)])["tau"].item() == 9
