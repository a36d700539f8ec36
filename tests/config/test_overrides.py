"""Words of a command line as settings."""

from __future__ import annotations

import math

import pytest

from flybench.config.compose import parse_request
from flybench.config.overrides import (
    Override,
    parse_value,
    split_overrides,
    split_settings,
    write_value,
)
from flybench.core.errors import FlybenchError


def test_an_override_has_a_key_a_value_and_a_group() -> None:
    assert Override.parse("++method.k=8") == ("method.k", "8", "++method.k=8")
    assert Override.parse("method.k=8").group == "method"
    assert Override.parse("hydra/launcher=joblib").group == "hydra"
    assert Override.parse("a=b=c").value == "b=c"


def test_paths_and_options_are_no_settings() -> None:
    words = ["results/a=b", "--out=x", "+judge.model=m", "hydra/launcher=ray", "RUN"]
    overrides, rest = split_overrides(words)
    assert [each.text for each in overrides] == ["+judge.model=m", "hydra/launcher=ray"]
    assert rest == ["results/a=b", "--out=x", "RUN"]


def test_a_verbs_own_settings_are_apart_from_a_runs() -> None:
    words = ["tune.k=4", "latency=1e3", "model=random"]
    own, rest = split_settings(list(map(Override.parse, words)), ("tune",), ("latency",))
    assert own == {"tune": {"k": 4}, "latency": "1e3"}
    assert [each.text for each in rest] == ["model=random"]


def test_values_are_read_and_written() -> None:
    assert [parse_value(text) for text in ("1", "1e-3", "inf", "true", "[1, 2]", "null", "x")] == [
        *(1, 0.001, math.inf, True, [1, 2], None, "x")
    ]
    assert [write_value(value) for value in (None, True, 8, "a/b", 'say "x"')] == [
        *("null", "true", "8", "a/b", '"say \\"x\\""')
    ]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("modle=x", "did you mean model"),
        ("model.target.pth=x", "did you mean path"),
        ("method=fly,spdd", "did you mean spd"),
        ("seed=one", "must be a whole number"),
        ("record.traces=maybe", "must be true or false"),
    ],
)
def test_typos_are_refused_when_read(word: str, said: str) -> None:
    with pytest.raises(FlybenchError, match=said):
        parse_request([word])


@pytest.mark.parametrize(
    "word", ["limit=null", "method.verify.theta=inf", "limit=range(1,3)", "model.draft=null"]
)
def test_values_of_hydras_grammar_pass(word: str) -> None:
    assert parse_request([word]).overrides[-1].text == f"++{word}"
