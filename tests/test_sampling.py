"""Warping against a slow reference, draws against their distribution, and refusals."""

from __future__ import annotations

import math
import random

import pytest
import torch

from flybench.core.errors import FlybenchError
from flybench.sampling import Sampling, draw
from tests.helpers.toys import assert_one_sentence
from tests.oracles.distributions import frequencies, total_variation, warped


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("top_k", [0, 1, 3, 50])
@pytest.mark.parametrize("top_p", [1.0, 0.9, 0.4, 0.01])
def test_warp_agrees_with_the_slow_reference(temperature: float, top_k: int, top_p: float) -> None:
    rng = random.Random(f"{temperature} {top_k} {top_p}")
    rows = [[rng.gauss(0, 2) for _ in range(9)] for _ in range(40)]
    dist = Sampling(temperature, top_k, top_p).warp(torch.tensor(rows, dtype=torch.float64))
    for row, ours in zip(rows, dist.tolist(), strict=True):
        assert ours == pytest.approx(warped(row, temperature, top_k, top_p), abs=1e-9)


def test_warp_keeps_rows_apart_and_sums_to_one() -> None:
    logits = torch.randn(5, 30, generator=torch.Generator().manual_seed(0))
    sampling = Sampling(0.7, 10, 0.8)
    dist = sampling.warp(logits)
    assert torch.allclose(dist.sum(-1), torch.ones(5))
    assert torch.equal(dist[2], sampling.warp(logits[2:3])[0])
    assert torch.equal(dist[2], sampling.warp(logits[2]))


def test_top_p_keeps_the_token_that_crosses_the_mass() -> None:
    logits = torch.tensor([[0.5, 0.3, 0.2]]).log()
    assert Sampling(1.0, 0, 0.6).warp(logits)[0].tolist() == pytest.approx([0.625, 0.375, 0])
    assert Sampling(1.0, 0, 0.4).warp(logits)[0].tolist() == pytest.approx([1, 0, 0])


def test_greedy_choice_is_the_argmax_without_a_distribution() -> None:
    ids, dist = Sampling().choose(torch.tensor([[0.0, 2.0], [3.0, 1.0]]), None)
    assert ids.tolist() == [1, 0]
    assert dist is None


def test_sampled_choice_comes_with_the_distribution_it_was_drawn_from() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0]]).expand(200_000, 3)
    sampling = Sampling(2.0)
    noise = sampling.noise((200_000, 3), torch.device("cpu"), torch.Generator().manual_seed(0))
    ids, dist = sampling.choose(logits, noise)
    assert dist is not None
    assert torch.equal(dist, sampling.warp(logits))
    assert total_variation(frequencies(ids, 3), dist[0]) < 0.005


@pytest.mark.parametrize("weights", [[0.1, 0.2, 0.7], [3.0, 1.0, 0.0], [1e-3, 1.0, 1e-3]])
def test_draw_frequencies_are_proportional_to_the_weights(weights: list[float]) -> None:
    dist = torch.tensor(weights) / sum(weights)
    draws = draw(torch.tensor(weights).expand(200_000, 3), torch.Generator().manual_seed(1))
    found = frequencies(draws, 3)
    assert total_variation(found, dist) < 0.005
    assert found[dist == 0].sum() == 0


def test_rows_are_drawn_independently() -> None:
    pairs = draw(torch.ones(100_000, 2, 2), torch.Generator().manual_seed(2))
    joint = frequencies(pairs[:, 0] * 2 + pairs[:, 1], 4)
    assert total_variation(joint, torch.full((4,), 0.25)) < 0.01


def test_equal_seeds_draw_alike() -> None:
    def once(seed: int) -> list[int]:
        return draw(torch.ones(50, 9), torch.Generator().manual_seed(seed)).tolist()

    assert once(3) == once(3)
    assert once(3) != once(4)


def test_a_draw_never_names_an_impossible_token() -> None:
    weights = torch.zeros(1000, 100)
    weights[:, 42] = 1e-30
    assert set(draw(weights, torch.Generator().manual_seed(5)).tolist()) == {42}


REFUSALS = {
    "negative temperature": ((-0.1, 0, 1.0), ("sampling.temperature=-0.1", "use 0")),
    "nan temperature": ((math.nan, 0, 1.0), ("sampling.temperature=nan", "use 0")),
    "hot": ((11.0, 0, 1.0), ("sampling.temperature=11", "to 10")),
    "negative top_k": ((1.0, -1, 1.0), ("sampling.top_k=-1", "use 0")),
    "zero top_p": ((1.0, 0, 0.0), ("sampling.top_p=0", "use 1")),
    "large top_p": ((1.0, 0, 1.5), ("sampling.top_p=1.5", "use 1")),
    "greedy top_k": ((0.0, 5, 1.0), ("sampling.top_k", "set sampling.temperature above 0")),
    "greedy top_p": ((0.0, 0, 0.9), ("sampling.top_p", "set sampling.temperature above 0")),
}


@pytest.mark.parametrize(("settings", "parts"), REFUSALS.values(), ids=REFUSALS)
def test_refusals(settings: tuple[float, int, float], parts: tuple[str, ...]) -> None:
    with pytest.raises(FlybenchError) as caught:
        Sampling(*settings)
    assert_one_sentence(caught.value, *parts)
