"""The protocol of verifiers, and functions that combine decisions per node into a verdict.

To add a rule, write a class with a pure method `judge` and the decorator `@verifier("KIND")` in a
file next to this one (or anywhere, with `method.verify.kind=file:PATH.py:CLASS`), a YAML file in
`conf/method/`, and a test against a slow reference. A rule with a method `replay`, such as the one
in `fly.py`, can be replayed from recorded traces. `CONTRIBUTING.md` has a complete example.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from flybench.core.drafts import Branches, Draft
from flybench.core.outcomes import Outcome
from flybench.core.verdicts import Verdict
from flybench.engine.base import RoundVerifier


class Verifier(RoundVerifier, Protocol):
    """Decides which draft tokens are accepted.

    `judge` returns the verdict on `draft` [N], given the target's `view` [N+1, V] of it. It is
    pure, vectorised, and does not trigger a host sync.
    """


@runtime_checkable
class ReplayableRule(Protocol):
    """A rule whose greedy outcomes depend only on matches and entropies, which traces record."""

    def replay(self, match: Tensor, entropy: Tensor, top3: Tensor, vocab_size: int) -> Tensor:
        """Return the outcome of every node, [..., N], as if all nodes before it were accepted.

        `match` [..., N] bool; `entropy` [..., N] of p at temperature 1 and `top3` [..., N] of its
        three largest probabilities, in nats.
        """


def accepted_prefix(keep: Tensor) -> Tensor:
    """Return the number of accepted nodes before the first rejection, [..., N] bool → [...]."""
    return keep.long().cumprod(-1).sum(-1)


def chain_verdict(accepted: Tensor, next_token: Tensor, outcomes: Tensor) -> Verdict:
    """Return the verdict on a chain; nodes after the first rejected one are not reached."""
    nodes = torch.arange(outcomes.shape[0], device=outcomes.device)
    visited = nodes <= accepted
    return Verdict(accepted, nodes, next_token, outcomes.where(visited, int(Outcome.NOT_REACHED)))


def match_outcomes(match: Tensor, outcome: Outcome) -> Tensor:
    """Return `outcome` for every match [...], and `REJECTED` for the rest."""
    return torch.where(match, int(outcome), int(Outcome.REJECTED))


def match_verdict(draft: Draft, choice: Tensor, outcome: Outcome) -> Verdict:
    """Accept a node with `outcome` if it equals the target's `choice` [N+1] after its parent."""
    match = draft.tokens == choice.index_select(0, draft.parents + 1)
    outcomes = match_outcomes(match, outcome)
    if draft.branches is not None:
        return tree_verdict(draft, draft.branches, match, choice, outcomes)
    accepted = accepted_prefix(match)
    return chain_verdict(accepted, pick(choice, accepted), outcomes)


def tree_verdict(
    draft: Draft, branches: Branches, match: Tensor, choice: Tensor, outcomes: Tensor
) -> Verdict:
    """Return the verdict on a tree; siblings differ, so at most one path matches."""
    size = len(draft)
    nodes = torch.arange(size, device=match.device)
    kept = ~(branches.ancestors & ~match).any(1)
    # Parents come before children, so sorting the nodes puts the path in order.
    path = nodes.where(kept, size).sort().values.clamp(max=size - 1)
    last_row = (nodes + 1).where(kept, 0).max()
    visited = (draft.parents < 0) | kept[draft.parents]
    outcomes = outcomes.where(visited, int(Outcome.NOT_REACHED))
    return Verdict(kept.sum(), path, pick(choice, last_row), outcomes)


def pick(values: Tensor, index: Tensor) -> Tensor:
    """Return `values[index]` for a scalar on the device, without a host sync."""
    return values.index_select(0, index[None]).squeeze(0)
