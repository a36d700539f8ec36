"""Tensor parallelism: two processes that share a target decode what one process decodes alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flybench.config import EngineConfig, ModelRef
from flybench.core import FlybenchError
from flybench.engine import placement
from flybench.engine.description import ModelInfo, describe
from flybench.engine.placement import choose_engine, resolve_device
from tests.reference import toys

# Run by each of two ranks: a family a line, and a model that transformers loads in shards.
RANK = r"""
import copy, sys
import torch
from flybench.config import DraftConfig, EngineConfig, MethodConfig, ModelRef, VerifyConfig
from flybench.decode import StopRule
from flybench.engine.description import describe
from flybench.engine.eager import EagerModel, EagerTarget
from flybench.engine.footprint import footprint
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph import shards
from flybench.engine.graph.shards import shard
from flybench.engine.graph.target import GraphTarget
from flybench.engine.loading import load_model
from flybench.engine.shapes import random_weights
from flybench.methods import AR, build_decoder
from flybench.ranks import from_leader, join, rank
from flybench.sampling import Sampling
from tests.reference import toys

torch.set_num_threads(1)
join(torch.device("cpu"))
assert from_leader(rank()) == 0
prompt, stop = list(range(40, 72)) * 2, StopRule(frozenset(), 20)
spd = MethodConfig("spd", 5, DraftConfig("model"))
fly = MethodConfig("fly", 9, DraftConfig("nested"), VerifyConfig("fly"))
cases = ((AR, Sampling()), (fly, Sampling()), (spd, Sampling(0.8)))

def compare(name, part, whole):
    assert footprint(part).kv_bytes_per_token * 2 == footprint(whole).kv_bytes_per_token
    target = GraphTarget(GraphModel(part, toys.VOCAB, 400, 2))
    for method, sampling in cases:
        draft = toys.near("llama") if method is AR else toys.graph_near(name)
        ours = build_decoder(method, target, draft, sampling).decode(prompt, stop, 3)
        plain = EagerTarget(EagerModel(whole, toys.VOCAB))
        theirs = build_decoder(method, plain, toys.near(name), sampling).decode(prompt, stop, 3)
        assert ours.ids == theirs.ids, (name, method.name, sampling)

torch.manual_seed(1)
whole, x = torch.nn.Linear(8, 6), torch.randn(2, 3, 8)
for style in ("colwise_gather_output", "rowwise"):
    part = shards._part("layer", whole, style)
    half = x if style != "rowwise" else x.chunk(2, -1)[rank()]
    torch.testing.assert_close(part(half), whole(x))

for name in ("llama", "qwen3", "gemma3"):
    compare(name, shard(copy.deepcopy(toys.model(name))), toys.model(name))
info = describe(ModelRef(sys.argv[1]))
part = load_model(info, EngineConfig("graph", device="cpu", tp=2), sharded=True)
compare("llama", part, toys.model("llama"))

# Made in shards, without a whole: the ranks follow rank 0, so that they can only agree.
cpu = torch.device("cpu")
random = random_weights(toys.model("llama").config, torch.float32, cpu, sharded=True)
target = GraphTarget(GraphModel(random, toys.VOCAB, 400, 2))
ids = build_decoder(AR, target, None, Sampling()).decode(prompt, stop).ids
assert len(ids) == 20 and ids == from_leader(ids)
assert random.model.layers[0].self_attn.q_proj._size * 2 == toys.model(
    "llama"
).model.layers[0].self_attn.q_proj.out_features
print(f"rank {rank()} agrees")
"""


def test_two_ranks_decode_what_one_does(saved: Path, tmp_path: Path) -> None:
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    root = Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*launcher, str(script), str(saved)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    # They write to one pipe, and may write the ends of their lines later.
    assert all(f"rank {rank} agrees" in done.stdout for rank in range(2))


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
        (EngineConfig("auto", tp=4), "the 2 key heads of random:llama"),
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
