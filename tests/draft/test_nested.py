"""Lookup inside the draft model changes how fast it drafts, never what."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import chisquare

from flybench.draft.model import ModelDrafter
from flybench.draft.nested import NestedDrafter
from flybench.sampling import Sampling
from tests.helpers import toys

V, DRAWS = 4, 6000
TABLE = torch.randn(V, V, generator=torch.Generator().manual_seed(4))
# The last words occurred before, followed by 3 and 0: each pass looks two tokens up.
CONTEXT = [1, 2, 3, 0, 1, 2]
SAMPLING = Sampling(0.9)


def nested(model: toys.TableModel, sampling: Sampling, lookup_tokens: int) -> NestedDrafter:
    return NestedDrafter(toys.draft_setup(model, sampling), 2, 1, lookup_tokens)


def counts_of_two_token_drafts(drafter: ModelDrafter | NestedDrafter) -> list[int]:
    counts = [0] * (V * V)
    generator = torch.Generator().manual_seed(6)
    for _ in range(DRAWS):
        drafter.start(CONTEXT, None, generator)
        first, second = drafter.propose(CONTEXT, 2).tokens.tolist()
        counts[first * V + second] += 1
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["model", "nested"])
def test_sampled_drafts_follow_the_draft_model_own_distribution(kind: str) -> None:
    model = toys.TableModel(TABLE)
    drafter = (
        ModelDrafter(toys.draft_setup(model, SAMPLING))
        if kind == "model"
        else nested(model, SAMPLING, 2)
    )
    dist = SAMPLING.warp(TABLE)
    expected = (dist[CONTEXT[-1]][:, None] * dist).flatten().double()
    expected = expected / expected.sum() * DRAWS
    found = counts_of_two_token_drafts(drafter)
    assert chisquare(found, expected.tolist()).pvalue > 1e-3
    if kind == "nested":
        assert model.passes < 2.9 * DRAWS, "the lookup never helped, so that nothing was tested"


@pytest.mark.parametrize("lookup_tokens", [1, 3, 6])
def test_greedy_drafts_equal_the_plain_model(lookup_tokens: int, prompt_ids: list[int]) -> None:
    plain = ModelDrafter(toys.draft_setup(toys.eager("llama"), Sampling()))
    quick = NestedDrafter(toys.draft_setup(toys.eager("llama"), Sampling()), 4, 1, lookup_tokens)
    for limit in (1, 5, 15):
        plain.start(prompt_ids, None, None)
        quick.start(prompt_ids, None, None)
        ours = quick.propose(prompt_ids, limit).tokens.tolist()
        assert ours == plain.propose(prompt_ids, limit).tokens.tolist()


def test_a_repetitive_text_needs_fewer_passes_than_tokens() -> None:
    model = toys.TableModel(torch.eye(4).roll(1, 1))
    drafter = nested(model, Sampling(), lookup_tokens=3)
    context = [0, 1, 2, 3, 0, 1, 2, 3]
    drafter.start(context, None, None)
    model.passes = 0
    assert drafter.propose(context, 12).tokens.tolist() == [0, 1, 2, 3] * 3
    assert model.passes == 3  # three looked-up tokens and one of its own each


def test_the_last_pass_may_overshoot_but_the_draft_does_not() -> None:
    model = toys.TableModel(torch.eye(4).roll(1, 1))
    drafter = nested(model, SAMPLING, lookup_tokens=6)
    context = [0, 1, 2, 3] * 3
    drafter.start(context, None, torch.Generator().manual_seed(0))
    draft = drafter.propose(context, 3)
    assert len(draft) == 3
    assert draft.probs is not None
    assert len(draft.probs) == 3


def test_words_of_a_rejected_draft_are_not_looked_up() -> None:
    """A second proposal after the same context is the same, whatever was drafted in between."""
    model = toys.TableModel(torch.randn(9, 9, generator=torch.Generator().manual_seed(7)))
    drafter = nested(model, Sampling(), lookup_tokens=3)
    drafter.start([1, 2, 1], None, None)
    model.passes = 0
    first = drafter.propose([1, 2, 1], 9).tokens.tolist()
    passes, model.passes = model.passes, 0
    assert drafter.propose([1, 2, 1], 9).tokens.tolist() == first
    assert model.passes == passes
