"""The parts of the graph engine: static caches, captured work, joined projections."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from flybench.core.drafts import Draft
from flybench.core.errors import FlybenchError
from flybench.engine.graph.capture import capture
from flybench.engine.graph.linears import FusedSlice, SkinnyLinear, rewire_linears
from flybench.engine.graph.target import GraphTarget
from flybench.sampling import Sampling
from flybench.verify.exact import ExactVerifier
from tests.helpers import toys

CPU = torch.device("cpu")


def test_captured_work_refills_the_same_tensors() -> None:
    buffer = torch.zeros(2)
    replay = capture(lambda: (buffer + 1, (buffer * 2, None)), CPU)
    first, (second, nothing) = replay()
    buffer.fill_(3)
    again = replay()
    assert again[0] is first
    assert again[1][0] is second
    assert nothing is None
    assert (first.tolist(), second.tolist()) == ([4.0, 4.0], [6.0, 6.0])


def test_joined_projections_compute_the_same() -> None:
    model = copy.deepcopy(toys.model("qwen3"))
    before = sum(p.numel() for p in model.parameters())
    ids = torch.tensor([[1, 2, 3]])
    plain = model(ids).logits
    attention, mlp = model.model.layers[0].self_attn, model.model.layers[0].mlp
    query = attention.q_proj.weight
    rewire_linears(model)
    assert [type(m) for m in (attention.q_proj, mlp.up_proj)] == [FusedSlice, FusedSlice]
    assert [type(m) for m in (attention.o_proj, model.lm_head)] == [SkinnyLinear, SkinnyLinear]
    torch.testing.assert_close(model(ids).logits, plain)
    # The old parameter is a view of the joined one: nothing is in memory twice.
    whole = attention.q_proj._joined[0].weight
    assert query.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()
    rest = sum(p.numel() for p in model.parameters())
    joined = sum(
        module._joined[0].weight.numel()
        for module in model.modules()
        if isinstance(module, FusedSlice) and module._start == 0
    )
    assert rest + joined == before


def test_a_linear_of_another_type_keeps_its_own_pass() -> None:
    class Quantised(nn.Linear):
        pass

    model = copy.deepcopy(toys.model("llama"))
    mlp = model.model.layers[0].mlp
    mlp.gate_proj.__class__ = Quantised
    rewire_linears(model)
    assert type(mlp.gate_proj) is Quantised
    assert type(mlp.up_proj) is SkinnyLinear


def test_a_text_longer_than_the_cache_is_refused() -> None:
    model = toys.graph("llama", 100)
    with pytest.raises(FlybenchError) as caught:
        model.prefill([1] * (model.slots + 1))
    toys.assert_one_sentence(caught.value, "do not fit in a cache of 256", "engine=eager")
    target, _ = GraphTarget(model).prepare(ExactVerifier(), 5, Sampling())
    target.prefill([1] * 100)
    for _ in range(151):  # every padded pass fits behind the text that was promised
        target.score(1, Draft.chain(torch.tensor([2])))
        target.commit([])
    with pytest.raises(FlybenchError):
        target.score(1, Draft.chain(torch.tensor([2])))


def test_programs_are_prepared_once() -> None:
    model = toys.graph("llama")
    assert model.drafting(4, Sampling()) is model.drafting(4, Sampling())
    assert model.drafting(4, Sampling()) is not model.drafting(5, Sampling())
    assert model.pass_of(3) is model.pass_of(3)
