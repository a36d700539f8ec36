"""The shared nouns: what they hold, and the one copy of a verdict to the host."""

from __future__ import annotations

import pytest
import torch

from flybench.core.drafts import Draft, TargetView
from flybench.core.errors import FlybenchError
from flybench.core.outcomes import ACCEPTED_OUTCOMES, Outcome
from flybench.core.samples import Generation
from flybench.core.verdicts import Decision, Verdict

DECISION = Decision(nodes=[0, 1, 2], tokens=[7, 8, 9, 4], outcomes="elew", margins=[1, 2, 3, 4])


def verdict(accepted: int, next_token: int, outcomes: list[Outcome]) -> Verdict:
    path = torch.arange(len(outcomes))
    return Verdict(torch.tensor(accepted), path, torch.tensor(next_token), torch.tensor(outcomes))


def test_every_fate_has_a_letter_of_its_own() -> None:
    assert len({outcome.code for outcome in Outcome}) == len(Outcome)
    assert [outcome.code for outcome in ACCEPTED_OUTCOMES] == ["e", "l", "s"]


@pytest.mark.parametrize("size", [0, 1, 4])
def test_a_chain_has_every_token_under_the_one_before(size: int) -> None:
    draft = Draft.chain(torch.arange(size))
    assert draft.parents.tolist() == list(range(-1, size - 1))
    assert draft.parents.dtype == torch.long
    assert len(draft) == size


def test_path_leaves_the_last_emitted_token_out() -> None:
    assert DECISION.path == [0, 1, 2]
    assert DECISION.truncated(3).path == [0, 1]
    assert DECISION.truncated(1).path == []


def test_truncation_keeps_the_first_tokens_and_counts_only_kept_looseness() -> None:
    cut = DECISION.truncated(2)
    assert (cut.nodes, cut.tokens, cut.margins) == ([0, 1], [7, 8], [1, 2])
    assert (DECISION.loose, cut.loose, DECISION.truncated(1).loose) == (1, 1, 0)
    assert DECISION.truncated(4) == DECISION


def test_fetch_copies_the_whole_verdict() -> None:
    draft = Draft.chain(torch.tensor([5, 6, 7]))
    logits = torch.tensor([[0.0, 4.0, 1.0], [9.0, 8.5, 0.0], [0.0, 0.0, 0.0], [1.0, 2.0, 9.0]])
    judged = verdict(2, 1, [Outcome.EXACT, Outcome.LOOSE, Outcome.GATE])
    decision = judged.fetch(draft, TargetView.of(logits))
    assert decision == Decision([0, 1], [5, 6, 1], "elg", [3.0, 0.5, 0.0])


def test_fetch_of_an_empty_draft_is_the_next_token() -> None:
    draft = Draft.chain(torch.empty(0, dtype=torch.long))
    decision = verdict(0, 2, []).fetch(draft, TargetView.of(torch.tensor([[0.0, 1.0, 3.0]])))
    assert decision == Decision([], [2], "", [2.0])


def test_fetch_keeps_the_largest_ids_exact() -> None:
    largest = 2**24 - 1
    draft = Draft.chain(torch.tensor([largest, largest - 1]))
    judged = verdict(2, largest - 2, [Outcome.EXACT, Outcome.EXACT])
    decision = judged.fetch(draft, TargetView.of(torch.zeros(3, 2)))
    assert decision.tokens == [largest, largest - 1, largest - 2]


def test_fetch_copies_to_the_host_once(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = []
    tolist = torch.Tensor.tolist
    monkeypatch.setattr(torch.Tensor, "tolist", lambda self: copies.append(1) or tolist(self))
    draft = Draft.chain(torch.tensor([0, 1]))
    verdict(1, 0, [Outcome.EXACT, Outcome.GATE]).fetch(draft, TargetView.of(torch.rand(3, 2)))
    assert len(copies) == 1


def test_decode_time_is_the_total_without_the_prefill() -> None:
    generation = Generation(3, [1], "", "eos", [0.0], [], 0.25, 0.5, 1.0)
    assert generation.decode_s == 0.75


def test_logits_that_are_no_numbers_are_refused() -> None:
    view = TargetView.of(torch.full((1, 4), float("nan")))
    zero = torch.tensor(0)
    none = torch.empty(0, dtype=torch.long)
    with pytest.raises(FlybenchError, match="NaN"):
        Verdict(zero, none, zero, none).fetch(Draft.chain(none), view)
