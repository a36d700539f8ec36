"""Exact verification keeps the longest run of the target's own choices."""

from __future__ import annotations

import itertools

import pytest
import torch

from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Decision
from flybench.sampling import Sampling
from flybench.verify.base import accepted_prefix, pick
from flybench.verify.exact import ExactVerifier

CHOICE = [3, 1, 4, 1, 5]


def decide(draft_ids: list[int]) -> Decision:
    draft = Draft.chain(torch.tensor(draft_ids, dtype=torch.long))
    logits = torch.eye(6)[CHOICE[: len(draft_ids) + 1]] * 4
    view = TargetView.of(logits)
    return ExactVerifier().judge(draft, view, Sampling(), None).fetch(draft, view)


@pytest.mark.parametrize("matches", list(itertools.product([True, False], repeat=4)))
def test_keeps_up_to_the_first_mismatch_and_adds_the_target_token(matches: list[bool]) -> None:
    draft = [token if same else 0 for token, same in zip(CHOICE, matches, strict=False)]
    kept = next((i for i, same in enumerate(matches) if not same), 4)
    decision = decide(draft)
    assert decision.tokens == CHOICE[: kept + 1]
    assert decision.nodes == list(range(kept))
    assert decision.outcomes == ("e" * kept + "r").ljust(4, ".")[:4]


def test_empty_draft_is_one_plain_step() -> None:
    assert decide([]) == Decision(nodes=[], tokens=[3], outcomes="", margins=[4.0])


def test_a_match_after_a_mismatch_does_not_count() -> None:
    assert int(accepted_prefix(torch.tensor([True, True, False, True]))) == 2
    assert int(accepted_prefix(torch.tensor([], dtype=torch.bool))) == 0


def test_pick_takes_one_row() -> None:
    values = torch.arange(6).reshape(3, 2)
    assert pick(values, torch.tensor(2)).tolist() == [4, 5]
    assert pick(values[:, 0], torch.tensor(1)).shape == ()
