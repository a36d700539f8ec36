"""Bytes and operations of a pass, against the same counted by hand."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from flybench.engine.cost.work import ModelWork
from flybench.engine.drafters.layer_skip import without_layers
from tests.helpers import toys

# Sizes of the toy: width 64, MLP 128, 4 heads of 16 over 2 key heads, 4 layers, 261 words.
MATRICES = 4 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128) + 261 * 64
NORMS = 9 * 64
KV = 4 * 2 * 2 * 16 * 4


@pytest.fixture(scope="module")
def model_work() -> ModelWork:
    return ModelWork.of(toys.model("llama"))


def test_sizes_by_hand(model_work: ModelWork) -> None:
    read = MATRICES + NORMS + 64  # and one row of the embedding
    assert model_work == ModelWork(4 * read, KV, MATRICES, 64, (None,) * 4)


def test_one_token_reads_the_weights_and_its_own_text(model_work: ModelWork) -> None:
    work = model_work.of_pass(1, 100, 1)
    assert work.bytes == (model_work.weight_bytes or 0) + 100 * KV
    # scores and values: two products of 2 operations, 64 wide, over 101 tokens in 4 layers
    assert work.operations == 2 * (model_work.parameters or 0) + 4 * 64 * 101 * 4


def test_a_batch_shares_the_weights_alone(model_work: ModelWork) -> None:
    one, many = model_work.of_pass(1, 100, 1), model_work.of_pass(1, 100, 8)
    assert (many.bytes or 0) - (one.bytes or 0) == 7 * 100 * KV
    assert many.operations == 8 * (one.operations or 0)


def test_new_tokens_see_those_before_them(model_work: ModelWork) -> None:
    """Row t of a pass of 3 after 10 tokens sees 10 + t, for t = 1, 2, 3."""
    rows = [model_work.of_pass(1, 10 + before, 1).operations or 0 for before in range(3)]
    assert model_work.of_pass(3, 10, 1).operations == sum(rows)
    assert model_work.of_pass(3, 10, 1).bytes == model_work.of_pass(1, 10, 1).bytes


def test_a_window_bounds_what_a_layer_sees(model_work: ModelWork) -> None:
    narrow = replace(model_work, windows=(32, None, 32, None))
    assert (narrow.of_pass(1, 1000, 1).bytes or 0) == (model_work.weight_bytes or 0) + KV / 4 * 2064
    assert narrow.of_pass(1, 20, 1) == model_work.of_pass(1, 20, 1)
    assert narrow.cache_bytes(1000, 2) == 2000 * KV, "the cache itself keeps everything"


def test_windows_are_read_from_the_configuration() -> None:
    windows = ModelWork.of(toys.model("gemma3")).windows
    assert len(windows) == 4
    assert set(windows) <= {32, None}
    assert 32 in windows
    assert len(ModelWork.of(without_layers(toys.model("llama"), 1, 3)).windows) == 2


def test_a_packed_layer_counts_what_it_stands_for() -> None:
    model = copy.deepcopy(toys.model("llama"))
    head = model.lm_head
    head.weight = nn.Parameter(torch.zeros(head.weight.numel() // 2, dtype=torch.uint8), False)
    assert ModelWork.of(model).parameters == MATRICES


def test_a_mixture_of_experts_is_unknown() -> None:
    model = copy.deepcopy(toys.model("llama"))
    model.experts = nn.Linear(2, 2)
    work = ModelWork.of(model).of_pass(1, 10, 1)
    assert (work.bytes, work.operations) == (None, None)
