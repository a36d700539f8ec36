"""A draft model proposes its own continuation, from a cache that never leads the text."""

from __future__ import annotations

import pytest
import torch

from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Decision
from flybench.draft.model import ModelDrafter
from flybench.draft.nested import NestedDrafter
from flybench.engine.base import CachedModel
from flybench.sampling import Sampling
from tests.helpers import toys

VIEW = TargetView.of(torch.zeros(1, 3))
KINDS = ("model", "nested")


def drafter_of(kind: str, model: CachedModel, sampling: Sampling) -> ModelDrafter | NestedDrafter:
    if kind == "model":
        return ModelDrafter(toys.draft_setup(model, sampling))
    return NestedDrafter(
        toys.draft_setup(model, sampling), ngram_max=3, ngram_min=1, lookup_tokens=4
    )


def decision(draft: Draft, kept: int, correction: int) -> Decision:
    """The target kept the first `kept` tokens and put `correction` after them."""
    tokens = [*draft.tokens.tolist()[:kept], correction]
    return Decision(list(range(kept)), tokens, "", [0.0] * (kept + 1))


def greedy_continuation(prompt: list[int], count: int) -> list[int]:
    model = toys.eager("llama")
    logits = model.extend(model.ids(prompt), rows=1)
    ids: list[int] = []
    for _ in range(count):
        ids.append(int(logits.argmax()))
        logits = model.extend(model.ids(ids[-1:]), rows=1)
    return ids


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_draft_is_the_model_own_continuation(kind: str, prompt_ids: list[int]) -> None:
    drafter = drafter_of(kind, toys.eager("llama"), Sampling())
    drafter.start(prompt_ids, None, None)
    draft = drafter.propose(prompt_ids, 12)
    assert draft.tokens.tolist() == greedy_continuation(prompt_ids, 12)
    assert draft.parents.tolist() == list(range(-1, 11))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [0, 1, 2, 7])
def test_draft_has_exactly_the_length_asked_for(kind: str, limit: int) -> None:
    drafter = drafter_of(kind, toys.TableModel(torch.eye(5).roll(1, 1)), Sampling())
    drafter.start([0, 1], None, None)
    assert drafter.propose([0, 1], limit).tokens.tolist() == [2, 3, 4, 0, 1, 2, 3][:limit]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prompt", [[3], [3, 4, 5]])
def test_a_short_prompt_is_enough(kind: str, prompt: list[int]) -> None:
    model = toys.eager("llama")
    drafter = drafter_of(kind, model, Sampling())
    drafter.start(prompt, None, None)
    assert model.length == len(prompt) - 1
    assert drafter.propose(prompt, 5).tokens.tolist() == greedy_continuation(prompt, 5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", [0, 1, 4, 5])
def test_after_observe_the_cache_is_a_prefix_of_the_text(kind: str, kept: int) -> None:
    model = toys.TableModel(torch.randn(9, 9, generator=torch.Generator().manual_seed(2)))
    drafter = drafter_of(kind, model, Sampling())
    context = [1, 2, 1, 2, 3]
    drafter.start(context, None, None)
    for correction in (8, 0, 7, 7):
        draft = drafter.propose(context, 5)
        outcome = decision(draft, kept, correction)
        context = context + outcome.tokens
        drafter.observe(draft, VIEW, outcome)
        assert model.length < len(context)
        assert model.text == context[: model.length]


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_round_leaves_no_trace(kind: str) -> None:
    model = toys.TableModel(torch.randn(9, 9, generator=torch.Generator().manual_seed(2)))
    drafter = drafter_of(kind, model, Sampling())
    context = [1, 2, 1, 2, 3]
    drafter.start(context, None, None)
    draft = drafter.propose(context, 5)
    outcome = decision(draft, 5, 0).truncated(3)
    context = context + outcome.tokens
    drafter.observe(draft, VIEW, outcome)
    assert model.length < len(context)
    assert model.text == context[: model.length]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", [0, 2, 6])
def test_a_warm_drafter_proposes_what_a_cold_one_would(
    kind: str, kept: int, prompt_ids: list[int]
) -> None:
    drafter = drafter_of(kind, toys.eager("qwen3"), Sampling())
    cold = drafter_of(kind, toys.eager("qwen3"), Sampling())
    context = list(prompt_ids)
    drafter.start(context, None, None)
    for correction in (40, 41, 40, 41):
        draft = drafter.propose(context, 6)
        cold.start(context, None, None)
        assert draft.tokens.tolist() == cold.propose(context, 6).tokens.tolist()
        outcome = decision(draft, kept, correction)
        context += outcome.tokens
        drafter.observe(draft, VIEW, outcome)


@pytest.mark.parametrize("kind", KINDS)
def test_each_law_is_that_of_the_text_before_its_token(kind: str) -> None:
    model = toys.TableModel(torch.randn(6, 6, generator=torch.Generator().manual_seed(3)))
    sampling = Sampling(0.8, top_k=4)
    drafter = drafter_of(kind, model, sampling)
    context = [1, 2, 3, 1, 2, 3, 1]
    drafter.start(context, None, torch.Generator().manual_seed(0))
    draft = drafter.propose(context, 8)
    before = torch.tensor([context[-1], *draft.tokens.tolist()[:-1]])
    assert draft.probs is not None
    assert torch.allclose(draft.probs, sampling.warp(model.table[before]))


def test_model_draft_takes_one_pass_a_token() -> None:
    model = toys.TableModel(torch.eye(5).roll(1, 1))
    drafter = ModelDrafter(toys.draft_setup(model, Sampling()))
    drafter.start([0, 1], None, None)
    model.passes = 0
    drafter.propose([0, 1], 6)
    assert model.passes == 6
