"""What the graph engine refuses, and what becomes of a pair then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from transformers import AutoConfig

from flybench.config import DraftConfig, EngineConfig, MethodConfig, ModelRef
from flybench.core.errors import FlybenchError
from flybench.engine.graph.support import FAMILIES, unsupported_reason
from flybench.engine.loading.description import ModelInfo, describe
from flybench.engine.loading.placement import choose_engine, engine_label
from flybench.run.setup import check_width
from tests.helpers import toys

CUDA, CPU = torch.device("cuda"), torch.device("cpu")
LONG = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_dense_family_is_served(family: str) -> None:
    assert unsupported_reason(AutoConfig.for_model(family)) is None


@pytest.mark.parametrize(
    ("family", "settings", "why"),
    [
        ("gpt2", {}, "of type gpt2"),
        ("mixtral", {}, "of type mixtral"),
        ("llama", {"rope_parameters": LONG}, "rotary embedding (dynamic) changes with length"),
        ("gemma3_text", {"use_bidirectional_attention": True}, "attends in both directions"),
    ],
)
def test_what_cannot_be_captured_is_refused(
    family: str, settings: dict[str, Any], why: str
) -> None:
    assert why in (unsupported_reason(AutoConfig.for_model(family, **settings)) or "")


def test_layers_of_another_kind_are_refused() -> None:
    config = AutoConfig.for_model("qwen3")
    config.layer_types = ["full_attention", "linear_attention"]
    assert "layers of type linear_attention" in (unsupported_reason(config) or "")


@pytest.fixture(scope="module")
def info() -> ModelInfo:
    return describe(ModelRef("random:llama"))


@pytest.mark.parametrize(
    ("kind", "device", "chosen"),
    [
        ("auto", CPU, "eager"),
        ("auto", CUDA, "graph"),
        ("eager", CUDA, "eager"),
        ("graph", CUDA, "graph"),
        ("graph", CPU, "graph"),
    ],
)
def test_auto_is_graph_on_cuda(
    kind: str, device: torch.device, chosen: str, info: ModelInfo
) -> None:
    engine, note = choose_engine(EngineConfig(kind), [info, info], device)
    assert (engine.kind, note) == (chosen, None)


def test_a_pair_falls_back_together_and_says_why(info: ModelInfo) -> None:
    strange = replace(
        info, graph_unsupported_reason="it serves llama, and this model is of type gpt2"
    )
    engine, note = choose_engine(EngineConfig(), [info, strange], CUDA)
    assert engine.kind == "eager"
    assert note is not None
    toys.assert_one_sentence(ValueError(note), "random:llama", "of type gpt2", "engine=eager")
    with pytest.raises(FlybenchError) as caught:
        choose_engine(EngineConfig("graph"), [info, strange], CUDA)
    toys.assert_one_sentence(caught.value, "random:llama", "use engine=eager")


def test_layers_spread_over_cards_are_refused(info: ModelInfo) -> None:
    spread = replace(info, ref=replace(info.ref, device="balanced"))
    engine, note = choose_engine(EngineConfig(), [spread], CUDA)
    assert engine.kind == "eager"
    assert "take turns" in str(note)


def test_the_engine_is_named_with_its_placement(info: ModelInfo) -> None:
    spread = replace(info, ref=replace(info.ref, device="balanced"))
    assert engine_label(EngineConfig("graph"), [info, info]) == "graph"
    assert engine_label(EngineConfig("graph", tp=4), [spread]).endswith("parallel over 4 cards")
    label = engine_label(EngineConfig("eager"), [spread, info])
    assert label.startswith("eager, random:llama in layers over the cards, which take turns")


@pytest.mark.parametrize(("k", "lookup_tokens"), [(128, 6), (15, 127)])
def test_passes_wider_than_the_engine_are_refused(k: int, lookup_tokens: int) -> None:
    draft = DraftConfig.of("nested", lookup_tokens=lookup_tokens)
    method = MethodConfig("wide", k, draft)
    check_width(EngineConfig("eager"), method)
    check_width(EngineConfig("graph"), MethodConfig("narrow", 127, DraftConfig.of("model")))
    with pytest.raises(FlybenchError) as caught:
        check_width(EngineConfig("graph"), method)
    toys.assert_one_sentence(
        caught.value, f"method.k={k}", "supports 128 tokens per pass", "engine=eager"
    )
