"""Tensor parallelism: two processes that share a target decode what one process decodes alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel

from flybench.config import DraftConfig, EngineConfig, MethodConfig, ModelRef, VerifyConfig
from flybench.core.errors import FlybenchError
from flybench.decode import AR, StopRule, build_decoder
from flybench.distributed import from_leader, rank
from flybench.engine.cost.footprint import footprint
from flybench.engine.eager.model import EagerModel, EagerTarget
from flybench.engine.graph import shards
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph.shards import shard
from flybench.engine.graph.target import GraphTarget
from flybench.engine.loading import placement
from flybench.engine.loading.description import ModelInfo, describe
from flybench.engine.loading.load import load_model
from flybench.engine.loading.placement import choose_engine, resolve_device
from flybench.engine.loading.shapes import random_weights
from flybench.sampling import Sampling
from tests.helpers import toys
from tests.helpers.ranks import in_two_ranks

SPD = MethodConfig("spd", 5, DraftConfig.of("model"))
FLY = MethodConfig("fly", 9, DraftConfig.of("nested"), VerifyConfig.of("fly"))
CASES = ((AR, Sampling()), (FLY, Sampling()), (SPD, Sampling(0.8)))
TEXT, STOP = list(range(40, 72)) * 2, StopRule(frozenset(), 20)


def compare(name: str, part: PreTrainedModel) -> None:
    """Answers of a target of which this rank has `part`, and of the whole one."""
    whole = toys.model(name)
    kept, all_of_it = (footprint(model).kv_bytes_per_token for model in (part, whole))
    assert (kept or 0) * 2 == all_of_it
    target = GraphTarget(GraphModel(part, toys.VOCAB, 400, 2))
    for method, sampling in CASES:
        draft = toys.near("llama") if method is AR else toys.graph_near(name)
        ours = build_decoder(method, target, draft, sampling).decode(TEXT, STOP, 3)
        plain = EagerTarget(EagerModel(whole, toys.VOCAB))
        theirs = build_decoder(method, plain, toys.near(name), sampling).decode(TEXT, STOP, 3)
        assert ours.ids == theirs.ids, (name, method.name, sampling)


def followers() -> None:
    assert from_leader(rank()) == 0


def layers() -> None:
    torch.manual_seed(1)
    whole, x = torch.nn.Linear(8, 6), torch.randn(2, 3, 8)
    for style in ("colwise_gather_output", "rowwise"):
        part = shards._part("layer", whole, style)
        half = x if style != "rowwise" else x.chunk(2, -1)[rank()]
        torch.testing.assert_close(part(half), whole(x))


def families() -> None:
    for name in ("llama", "qwen3", "gemma3"):
        compare(name, shard(copy.deepcopy(toys.model(name))))


def loaded_in_shards(folder: Path) -> None:
    part = load_model(
        describe(ModelRef(str(folder))), EngineConfig("graph", device="cpu", tp=2), sharded=True
    )
    compare("llama", part)


def made_in_shards() -> None:
    """Without a whole to compare with; the ranks follow rank 0, so that they can only agree."""
    config = toys.model("llama").config
    random = random_weights(config, torch.float32, torch.device("cpu"), sharded=True)
    target = GraphTarget(GraphModel(random, toys.VOCAB, 400, 2))
    ids = build_decoder(AR, target, None, Sampling()).decode(TEXT, STOP).ids
    assert len(ids) == 20
    assert ids == from_leader(ids)
    first, whole = (each.model.layers[0].self_attn.q_proj for each in (random, toys.model("llama")))
    assert first._size * 2 == whole.out_features


@pytest.mark.parametrize(
    "work", [followers, layers, pytest.param(families, marks=pytest.mark.slow), made_in_shards]
)
def test_two_ranks_compute_what_one_does(work: Callable[[], None]) -> None:
    in_two_ranks(work)


@pytest.mark.slow
def test_two_ranks_load_what_one_does(saved: Path) -> None:
    in_two_ranks(partial(loaded_in_shards, saved))


@pytest.fixture(scope="module")
def info() -> ModelInfo:
    return describe(ModelRef("random:llama"))


def test_the_command_for_several_ranks_is_named(info: ModelInfo) -> None:
    with pytest.raises(FlybenchError) as caught:
        choose_engine(EngineConfig(tp=2), [info], resolve_device("cpu"))
    toys.assert_one_sentence(caught.value, "engine.tp=2", "torchrun --nproc-per-node=2")


@pytest.mark.parametrize(
    ("engine", "why"),
    [
        (EngineConfig("eager", tp=4), "engine=eager with engine.tp=4"),
        (EngineConfig("auto", tp=4), "the 2 key/value heads of random:llama"),
        (EngineConfig("auto", tp=2), "there are 4"),
        (EngineConfig("auto"), "set engine.tp=4"),
    ],
)
def test_ranks_that_do_not_fit_are_refused(
    engine: EngineConfig, why: str, info: ModelInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "world_size", lambda: 4)
    with pytest.raises(FlybenchError) as caught:
        choose_engine(engine, [info], resolve_device("cpu"))
    toys.assert_one_sentence(caught.value, why)
