"""Configuration: what is accepted, what is refused and in which words, and what keys a run."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest

from flybench.config import (
    DraftConfig,
    MethodConfig,
    ModelConfig,
    ModelRef,
    RunConfig,
    VerifyConfig,
    digest,
)
from flybench.config.compose import cells, parse_request
from flybench.core.errors import FlybenchError
from tests.helpers.toys import assert_one_sentence

TREE: dict[str, Any] = {
    "model": {
        "name": "tiny",
        "target": {"path": "random:llama"},
        "draft": {"path": "random:llama:1", "skip_layers": [1, 2]},
    },
    "method": {
        "name": "fly",
        "k": 15,
        "draft": {"kind": "nested"},
        "verify": {"kind": "fly", "theta": 0.3, "window": 6},
    },
    "task": {"name": "demo", "kind": "demo"},
    "sampling": {"name": "greedy"},
    "engine": {"dtype": "fp32"},
}
AR_METHOD = {"name": "ar"}
DELETE = object()


def tree(**changes: Any) -> dict[str, Any]:
    """TREE with values set by dotted key, written with `__` for the dot."""
    result = copy.deepcopy(TREE)
    for dotted, value in changes.items():
        *groups, key = dotted.split("__")
        place = result
        for group in groups:
            place = place.setdefault(group, {})
        if value is DELETE:
            del place[key]
        else:
            place[key] = value
    return result


def test_a_whole_tree_becomes_typed_objects() -> None:
    config = RunConfig.from_tree(tree())
    assert config.method == MethodConfig(
        "fly",
        15,
        DraftConfig.of("nested"),
        VerifyConfig.of("fly", rule="official", theta=0.3, window=6),
    )
    assert config.model.draft == ModelRef("random:llama:1", skip_layers=(1, 2))
    assert (config.seed, config.limit, config.retention_margin) == (0, None, 0.01)


def test_whole_numbers_are_fine_where_a_fraction_is_expected() -> None:
    theta = RunConfig.from_tree(tree(method__verify__theta=1)).method.verify["theta"]
    assert isinstance(theta, float)
    assert theta == 1.0


@pytest.mark.parametrize(
    "changes",
    [
        {"method__verify__theta": math.inf},
        {"method__verify__theta": 0},
        {"method__verify__window": 0},
        {"method__verify__window": 14},
        {"method": AR_METHOD},
        {"method": AR_METHOD, "model__draft": None},
        {"method": {"name": "l", "k": 5, "draft": {"kind": "lookup"}}, "model__draft": None},
        {"method__verify__at_temperature": "best_of_two", "method__draft__draw": "greedy"},
        {"limit": 1},
        {"limit": None},
        {"retention_margin": 0.5},
        {"model__draft__skip_layers": None},
    ],
)
def test_accepted(changes: dict[str, Any]) -> None:
    RunConfig.from_tree(tree(**changes))


REFUSED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "unknown key": ({"metod": {}}, ("metod is not a setting", "did you mean method")),
    "unknown nested key": (
        {"method__verify__tetha": 1.0},
        ("method.verify.tetha", "choose one of kind, rule", "did you mean theta"),
    ),
    "unknown key far from all": ({"zzzz": 1}, ("zzzz is not a setting", "choose one of")),
    "text for a number": ({"seed": "one"}, ("seed='one'", "whole number")),
    "truth for a number": ({"seed": True}, ("seed=True", "whole number")),
    "fraction for a whole number": ({"method__k": 2.5}, ("method.k=2.5", "whole number")),
    "text for a fraction": (
        {"method__verify__theta": "high"},
        ("theta='high'", "must be a number"),
    ),
    "truth for a fraction": (
        {"retention_margin": True},
        ("retention_margin=True", "must be a number"),
    ),
    "number for text": ({"task__name": 5}, ("task.name=5", "must be text")),
    "number for truth": ({"model__target__trust_remote_code": 1}, ("code=1", "true or false")),
    "none where needed": ({"method__k": None}, ("method.k=None", "whole number")),
    "text for a group": ({"method": "fly"}, ("method='fly'", "group")),
    "list for a group": ({"model__target": ["x"]}, ("model.target=['x']", "group")),
    "wrong optional": ({"limit": "all"}, ("limit='all'", "whole number")),
    "short list": ({"model__draft__skip_layers": [1]}, ("skip_layers=[1]", "list of 2")),
    "text in a list": (
        {"model__draft__skip_layers": [1, "x"]},
        ("skip_layers='x'", "whole number"),
    ),
    "missing group": ({"task": DELETE}, ("incomplete", "'task'")),
    "missing key": ({"model__target__path": DELETE}, ("model.target is incomplete", "'path'")),
    "no room for the window": (
        {"method__k": 6},
        ("method.k=6", "method.verify.window=6", "at least 7"),
    ),
    "a head that is not there": (
        {"method__verify__kind": "exact", "method__draft__kind": "eagle3"},
        ("model tiny has none", "model.eagle3="),
    ),
    "a tree for fly": (
        {"method__draft__kind": "eagle3", "method__draft__tree_depth": 3},
        ("kind=fly does not support trees", "tree_depth=0"),
    ),
    "more nodes than grow": (
        {
            "method__k": 59,
            "method__draft": {"kind": "eagle3", "tree_depth": 2, "tree_top_k": 4},
            "method__verify": {"kind": "exact"},
        },
        ("method.k=59", "the 36 nodes"),
    ),
    "less room for the window": ({"method__verify__window": 40}, ("window=40", "at least 41")),
    "negative theta": ({"method__verify__theta": -0.1}, ("theta=-0.1", "use 0", "inf")),
    "nan theta": ({"method__verify__theta": math.nan}, ("theta=nan", "use 0", "inf")),
    "negative window": ({"method__verify__window": -1}, ("window=-1", "use 0")),
    "unknown rule": (
        {"method__verify__rule": "offical"},
        ("method.verify.rule=offical", "official, paper, vllm", "did you mean official"),
    ),
    "unknown verifier": ({"method__verify__kind": "fyl"}, ("verify.kind=fyl", "mean fly")),
    "unknown drafter": ({"method__draft__kind": "nestd"}, ("draft.kind=nestd", "mean nested")),
    "unknown draw": ({"method__draft__draw": "beam"}, ("draft.draw=beam", "sample, greedy")),
    "unknown temperature rule": (
        {"method__verify__at_temperature": "best"},
        ("at_temperature=best", "native, best_of_two"),
    ),
    "no tokens to draft": ({"method__k": 0}, ("method.k=0", "at least 1")),
    "negative draft": ({"method__k": -3}, ("method.k=-3", "at least 1")),
    "no tokens to look up": (
        {"method__draft__lookup_tokens": 0},
        ("lookup_tokens=0", "use 1 or more"),
    ),
    "n-grams upside down": (
        {"method__draft__ngram_min": 5},
        ("ngram_min=5", "ngram_max=4", "use 1 to ngram_max=4"),
    ),
    "n-grams of nothing": (
        {"method__draft__ngram_min": 0},
        ("ngram_min=0", "use 1 to ngram_max=4"),
    ),
    "no draft model": (
        {"model__draft": None},
        ("method fly needs a draft model", "model tiny", "model.draft.path", "method=lookup"),
    ),
    "no draft model for spd": (
        {"model__draft": None, "method": {"name": "spd", "k": 4, "draft": {"kind": "model"}}},
        ("method spd needs a draft model", "method=lookup"),
    ),
    "best of two of a sampled draft": (
        {"method__verify__at_temperature": "best_of_two"},
        ("at_temperature=best_of_two", "method.draft.draw=greedy"),
    ),
    "nothing drafted but k": ({"method": {**AR_METHOD, "k": 3}}, ("method ar", "k", "must be 0")),
    "nothing drafted but fly": (
        {"method": {**AR_METHOD, "verify": {"kind": "fly"}}},
        ("method ar", "verify.kind=fly must be exact", "spd or fly"),
    ),
    "unknown task": ({"task__kind": "gsm8"}, ("task.kind=gsm8", "did you mean gsm8k")),
    "no new tokens": ({"task__max_new_tokens": 0}, ("task.max_new_tokens=0", "at least 1")),
    "unknown engine": ({"engine__kind": "eagr"}, ("engine.kind=eagr", "did you mean eager")),
    "unknown engine dtype": ({"engine__dtype": "fp64"}, ("engine.dtype=fp64", "auto, fp32")),
    "unknown model dtype": ({"model__target__dtype": "int8"}, ("dtype=int8", "auto, fp32")),
    "first layer skipped": ({"model__draft__skip_layers": [0, 2]}, ("[0, 2]", "1 <= first")),
    "empty run of layers": ({"model__draft__skip_layers": [3, 3]}, ("[3, 3]", "first < end")),
    "no samples": ({"limit": 0}, ("limit=0", "at least 1")),
    "negative offset": ({"offset": -1}, ("offset=-1", "use 0")),
    "no margin": ({"retention_margin": 0.0}, ("retention_margin=0", "0.01")),
    "all margin": ({"retention_margin": 1.0}, ("retention_margin=1", "0.01")),
}


@pytest.mark.parametrize(("changes", "parts"), REFUSED.values(), ids=REFUSED)
def test_refused(changes: dict[str, Any], parts: tuple[str, ...]) -> None:
    with pytest.raises(FlybenchError) as caught:
        RunConfig.from_tree(tree(**changes))
    assert_one_sentence(caught.value, *parts)


def test_k_without_a_drafter_is_refused_by_value() -> None:
    with pytest.raises(FlybenchError) as caught:
        MethodConfig("ar", k=3)
    assert_one_sentence(caught.value, "k=3")


def test_a_tree_that_is_no_group_is_named() -> None:
    with pytest.raises(FlybenchError) as caught:
        RunConfig.from_tree([])  # type: ignore[arg-type]
    assert_one_sentence(caught.value, "the configuration")


def test_an_ar_method_needs_no_draft_model() -> None:
    needs = {kind: MethodConfig("m", 9, DraftConfig.of(kind)).needs_draft_model
             for kind in ("lookup", "model", "nested")}  # fmt: skip
    assert needs == {"lookup": False, "model": True, "nested": True}
    assert not MethodConfig("ar").needs_draft_model


CHANGES: dict[str, dict[str, Any]] = {
    "target": {"model__target__path": "random:llama:5"},
    "draft": {"model__draft__path": "random:llama:5"},
    "model dtype": {"model__target__dtype": "bf16"},
    "k": {"method__k": 16},
    "theta": {"method__verify__theta": 0.31},
    "infinite theta": {"method__verify__theta": math.inf},
    "rule": {"method__verify__rule": "paper"},
    "task": {"task__max_new_tokens": 100},
    "engine": {"engine__dtype": "bf16"},
    "temperature": {"sampling__temperature": 1.0},
    "seed": {"seed": 1},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_whatever_decides_the_tokens_changes_the_identity(changes: dict[str, Any]) -> None:
    before = RunConfig.from_tree(tree()).identity()
    after = RunConfig.from_tree(tree(**changes)).identity()
    assert before != after
    assert digest(before) != digest(after)


@pytest.mark.parametrize(
    "changes",
    [
        {"limit": 5}, {"offset": 3}, {"retention_margin": 0.05}, {"warmup": 0}, {"out": "there"},
    ],
)  # fmt: skip
def test_whatever_may_change_between_resumes_leaves_the_identity(changes: dict[str, Any]) -> None:
    before, after = RunConfig.from_tree(tree()), RunConfig.from_tree(tree(**changes))
    assert before != after
    assert before.identity() == after.identity()
    assert digest(before.identity()) == digest(after.identity())


@pytest.mark.parametrize(
    "word", ["model__description", "method__description", "task__description", "sampling__name"]
)
def test_runs_that_differ_in_words_alone_are_the_same(word: str) -> None:
    plain, told = RunConfig.from_tree(tree()), RunConfig.from_tree(tree(**{word: "better"}))
    assert told == plain and told.identity() == plain.identity()


def test_a_shape_decides_no_token() -> None:
    plain, named = (
        RunConfig.from_tree(tree(**changes))
        for changes in ({}, {"model__target__shape": "llama-8b", "model__draft__shape": "llama-1b"})
    )
    assert named.model.target.shape == "llama-8b"
    assert named.identity() == plain.identity()
    assert "shape" not in plain.identity()["model"]["target"]
    assert ModelRef("a", shape="llama-8b") == ModelRef("a")


def test_identity_is_plain_data() -> None:
    identity = RunConfig.from_tree(tree()).identity()
    assert set(identity) == {"model", "method", "task", "engine", "sampling", "seed"}
    assert json.loads(json.dumps(identity))["method"]["verify"]["theta"] == 0.3


def test_digest_ignores_the_order_of_keys_alone() -> None:
    assert digest({"a": 1, "b": [2, 3]}) == digest({"b": [2, 3], "a": 1})
    assert digest({"a": [2, 3]}) != digest({"a": [3, 2]})


def test_a_model_pair_may_lack_a_draft() -> None:
    assert ModelConfig("m", ModelRef("org/name")).draft is None


def test_fly_over_a_head_is_allowed_and_told() -> None:
    fly = MethodConfig("fly_eagle", 15, DraftConfig.of("eagle3"), VerifyConfig.of("fly"))
    assert "next 6 draft tokens" in (fly.caution or "")
    assert MethodConfig("fly", 15, DraftConfig.of("nested"), VerifyConfig.of("fly")).caution is None


def test_a_baseline_is_repeated_once_at_most_and_keeps_its_name() -> None:
    assert RunConfig.from_tree(tree(baseline={"repeat": 2})).identity() == (
        RunConfig.from_tree(tree()).identity()
    )
    with pytest.raises(FlybenchError, match="use 1, or 2") as refused:
        RunConfig.from_tree(tree(baseline={"repeat": 3}))
    assert_one_sentence(refused.value)
    with pytest.raises(FlybenchError, match="baseline.repeat=2") as reserved:
        RunConfig.from_tree(tree(method={"name": "ar_again"}))
    assert_one_sentence(reserved.value)


def test_seeds_of_a_greedy_sweep_are_refused() -> None:
    with pytest.raises(FlybenchError, match="seed=0,1 at sampling.temperature=0") as refused:
        cells(parse_request(["-m", "model=random", "seed=0,1"]))
    assert_one_sentence(refused.value)
    assert len(cells(parse_request(["-m", "model=random", "seed=0,1", "sampling=t1"]))) == 2
