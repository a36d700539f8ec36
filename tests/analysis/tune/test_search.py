"""The front, the candidates, and what a loose token weighs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flybench.analysis.tune.risk import WEIGHTS, Risk
from flybench.analysis.tune.search import _picked, front
from flybench.core.token_classes import CLASSES


def table(*rows: tuple[float, float, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["speedup", "risk", "opening"])


def test_the_front_holds_what_nothing_else_beats() -> None:
    found = table((2, 5, 0.5), (1.5, 1, 0.1), (1.4, 2, 0.2), (1, 0, 0), (1.5, 1, 0.1), (1.2, 3, 0))
    assert front(found).tolist() == [True, True, False, True, False, True]


def test_the_opening_counts_apart() -> None:
    """As fast and as risky, but with the answers' openings left alone."""
    assert front(table((2, 5, 0.5), (2, 5, 0.1))).tolist() == [False, True]


def test_candidates_are_the_fastest_and_safer_ones_that_keep_a_part_of_its_gain() -> None:
    found = table((2.0, 9, 0.9), (1.8, 4, 0.4), (1.4, 1, 0.1), (1.05, 0.1, 0), (0.9, 0, 0))
    assert _picked(found, 1.0, 3) == [0, 1, 2]
    assert _picked(found, 1.0, 1) == [0]
    assert _picked(found, 1.9, 3) == [0]
    assert _picked(found, 2.0, 3) == []
    rounding = table((0.9833885327252737, 1, 0.1))
    assert _picked(rounding, 0.4392198551442947, 3) == [0]


def test_every_class_has_a_weight() -> None:
    assert set(WEIGHTS) == set(CLASSES)


@pytest.mark.parametrize(("kept", "top1", "weight"), [("7", "8", 1.0), ("the", "a", 0.1)])
def test_a_loose_token_weighs_by_its_class(kept: str, top1: str, weight: float) -> None:
    words = {1: kept, 2: top1}
    rows: Any = SimpleNamespace(
        token=np.array([1, 1, 1]), choice=np.array([2, 2, 2]), answers=[None] * 4
    )
    rounds: Any = SimpleNamespace(
        emitted=np.array([60, 40]),
        loose_rows=np.array([0, 2]),
        loose_index=np.array([3, 8]),
        loose_answer=np.array([0, 1]),
    )
    risk = Risk(lambda ids: words[ids[0]])
    found = risk(SimpleNamespace(), rounds, rows)  # type: ignore[arg-type]
    assert found == {"risk": pytest.approx(1000 * 2 * weight / 100), "opening": 0.25}
