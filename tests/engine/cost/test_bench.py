"""Costing passes do the work of decoding ones: the same logits, for every text of a batch."""

from __future__ import annotations

import copy
import gc

import pytest
import torch

from flybench.engine.cost.bench import EagerBench, open_bench
from flybench.engine.graph.layers import Cursor, install
from flybench.engine.graph.model import GraphModel
from tests.helpers import toys

KINDS = ("eager", "graph")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("context", "batch", "width"), [(7, 1, 1), (5, 3, 4), (200, 2, 64)])
def test_every_row_of_a_batch_gets_its_statistics(
    kind: str, arch: str, context: int, batch: int, width: int
) -> None:
    model = copy.deepcopy(toys.model(arch))
    step = open_bench(kind, model, toys.VOCAB, context, batch).step(width)
    entropy = step().statistics.entropy.clone()
    assert entropy.shape == (batch * width,)
    rows = entropy.reshape(batch, width)
    torch.testing.assert_close(rows, rows[:1].expand(batch, width))
    torch.testing.assert_close(step().statistics.entropy, entropy)


def test_an_eager_bench_reads_what_decoding_reads() -> None:
    """After a context of one token the bench's cache is a true one."""
    bench = EagerBench(toys.model("llama"), toys.VOCAB, 1, 2)
    plain = toys.eager("llama")
    plain.prefill([0])
    expected = plain.extend(torch.zeros(3, dtype=torch.long), 3).argmax(-1)
    assert bench.step(3)().statistics.choice.tolist() == expected.tolist() * 2
    assert bench.length == 1


def test_a_bench_holds_its_context() -> None:
    eager = EagerBench(toys.model("llama"), toys.VOCAB, 300, 2)
    eager.step(4)()
    keys = {layer.keys.shape for layer in eager._cache.layers}  # type: ignore[union-attr]
    assert keys == {(2, 2, 300, 16)}
    near, far = (
        open_bench("graph", copy.deepcopy(toys.model("llama")), toys.VOCAB, context, 1).step(2)()
        for context in (3, 300)
    )
    assert not torch.allclose(near.statistics.entropy, far.statistics.entropy)


@pytest.mark.parametrize("kind", KINDS)
def test_a_closed_bench_holds_no_cache(kind: str) -> None:
    model = copy.deepcopy(toys.model("llama"))
    before = held()
    bench = open_bench(kind, model, toys.VOCAB, 1000, 8)
    assert held() - before >= 8 * 1000 * 1024
    bench.close()
    assert held() - before < 1000 * 1024


def held() -> int:
    """Bytes of every tensor that lives."""
    gc.collect()
    tensors = [found for found in gc.get_objects() if type(found) is torch.Tensor]
    return sum({t.data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())


def test_a_rewired_model_can_be_rewired_again(arch: str, prompt_ids: list[int]) -> None:
    """With other caches, and back: projections are joined once and answers stay the same."""
    model = copy.deepcopy(toys.model(arch))
    fresh = toys.graph(arch)
    install(model, Cursor(torch.zeros(1, dtype=torch.long)), 128, batch=3)
    modules = [type(module) for module in model.modules()]
    again = GraphModel(model, toys.VOCAB, 512)
    assert [type(module) for module in model.modules()] == modules
    for each in (fresh, again):
        each.prefill(prompt_ids)
        each.load([5, 6], 2)
    for ours, expected in zip(again.pass_of(2)(), fresh.pass_of(2)(), strict=True):
        torch.testing.assert_close(ours, expected)
