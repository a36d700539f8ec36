"""Weights in fewer bits: the same path on both engines, and what is refused beforehand."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flybench.config import EngineConfig, ModelConfig, ModelRef
from flybench.core.errors import FlybenchError
from flybench.decode import AR, StopRule, build_decoder
from flybench.engine.loading import placement
from flybench.engine.loading.description import describe, describe_pair
from flybench.engine.loading.load import load_pair
from flybench.engine.loading.placement import choose_engine, resolve_device
from flybench.engine.loading.quantised import quantisation
from flybench.sampling import Sampling
from tests.helpers import toys

needs_torchao = pytest.mark.skipif(
    importlib.util.find_spec("torchao") is None, reason="torchao is not installed"
)


def answer(path: Path, kind: str, quantize: str | None) -> tuple[list[int], int]:
    config = ModelConfig("m", ModelRef(str(path), quantize=quantize))
    target, _, vocab = describe_pair(config, with_draft=False)
    pair = load_pair(target, None, vocab, EngineConfig(kind, device="cpu"), 256)
    decoder = build_decoder(AR, pair.target, None, Sampling())
    ids = decoder.decode(list(range(40, 90)), StopRule(frozenset(), 40)).ids
    return ids, pair.target_footprint.weight_bytes or 0


@needs_torchao
def test_int8_weights_answer_alike_on_both_engines(saved: Path) -> None:
    eager, size = answer(saved, "eager", "int8")
    graph, _ = answer(saved, "graph", "int8")
    plain, plain_size = answer(saved, "eager", None)
    assert graph == eager
    assert eager != plain, "nothing was quantised"
    assert size < plain_size / 2


@needs_torchao
def test_a_quantised_target_is_not_shared(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "world_size", lambda: 2)
    info = describe(ModelRef(str(saved), quantize="int8"))
    with pytest.raises(FlybenchError) as caught:
        choose_engine(EngineConfig(tp=2), [info], resolve_device("cpu"))
    toys.assert_one_sentence(caught.value, "engine.tp=2 with int8 weights")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    plain: Any = SimpleNamespace()
    with pytest.raises(FlybenchError) as caught:
        quantisation(ModelRef("a/b", quantize="nf4"), plain)
    toys.assert_one_sentence(caught.value, "quantize=nf4", "pip install bitsandbytes")


def test_a_checkpoint_says_how_it_is_stored() -> None:
    stored: Any = SimpleNamespace(quantization_config={"quant_method": "gptq"})
    assert quantisation(ModelRef("a/b"), stored) == "gptq"
    assert quantisation(ModelRef("a/b"), SimpleNamespace()) is None  # type: ignore[arg-type]
    with pytest.raises(FlybenchError) as caught:
        quantisation(ModelRef("a/b", quantize="int8"), stored)
    toys.assert_one_sentence(caught.value, "already quantised (gptq)", "remove it")


@pytest.mark.parametrize(
    ("path", "quantize", "part"),
    [("a/b", "int3", "int3"), ("random:llama", "int8", "loaded from a file")],
)
def test_settings_are_checked(path: str, quantize: str, part: str) -> None:
    with pytest.raises(FlybenchError, match=part):
        ModelRef(path, quantize=quantize)
