"""The figures of many loose tokens."""

from __future__ import annotations

import pandas as pd
import pytest

from flybench.core.samples import LooseToken, TargetStatistics
from flybench.core.token_classes import classify
from flybench.metrics.frames import ClassifiedToken
from flybench.metrics.loose import LOOSE_METRICS, loose_metrics


def loose_token(index: int, probability: float, text: str = " big") -> ClassifiedToken:
    statistics = TargetStatistics(5, probability, 0.5, 2, 1.0)
    token = LooseToken(index, statistics, text, " large")
    return ClassifiedToken(token, classify(text, " large"))


def frame(**columns: list) -> pd.DataFrame:
    return pd.DataFrame(columns, index=pd.Index(list("abcd"), name="sample_id"))


@pytest.fixture
def samples() -> pd.DataFrame:
    rows = [[loose_token(7, 0.4), loose_token(30, 0.05, " 3")], [], [loose_token(8, 0.2)], []]
    counts = [len(row) for row in rows]
    return frame(
        loose_tokens=rows,
        before_extracted=[rows[0][:1], *rows[1:]],
        loose=counts,
        tokens=[100] * 4,
        correct=[0.0, 1.0, 1.0, float("nan")],
        graded=False,
    )


def test_figures_of_a_method(samples: pd.DataFrame) -> None:
    baseline = frame(correct=[1.0, 1.0, 0.0, 1.0])
    assert loose_metrics(samples, baseline) == {
        "loose_classes": {"digit": 2.5, "other": 5.0},
        "loose_improbable": pytest.approx(1 / 3),
        "loose_opening": 0.25,
        "loose_flips": (1, 1),
        "loose_harmful": 1,
    }


def test_without_loose_tokens_there_is_no_share(samples: pd.DataFrame) -> None:
    samples = samples.assign(loose_tokens=[[]] * 4, before_extracted=[[]] * 4, loose=0)
    found = loose_metrics(samples, frame(correct=[1.0, 1.0, 0.0, 1.0]))
    assert (found["loose_classes"], found["loose_improbable"]) == ({}, None)
    assert found["loose_flips"] == (0, 0)


def test_older_records_say_nothing(samples: pd.DataFrame) -> None:
    older = samples.assign(loose_tokens=[[]] * 4)
    assert loose_metrics(older, frame(correct=[1.0] * 4)) == dict.fromkeys(LOOSE_METRICS)


def test_unjudged_answers_flip_nothing(samples: pd.DataFrame) -> None:
    assert loose_metrics(samples, frame(correct=[float("nan")] * 4))["loose_flips"] is None


def test_grades_flip_nothing(samples: pd.DataFrame) -> None:
    baseline = frame(correct=[1.0, 1.0, 0.0, 1.0])
    assert loose_metrics(samples.assign(graded=True), baseline)["loose_flips"] is None
