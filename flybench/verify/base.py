"""The verifier's protocol, and the walk that turns per-node decisions into a verdict.

To add a rule: one file beside this one, or anywhere (`method.verify.kind=file:PATH.py:CLASS`), with
a class whose `judge` is pure under `@verifier("KIND")`, a YAML in `conf/method/`, and a test
against a slow reference. A rule with a method `replay` (as `fly.py` has it) can be replayed from
recorded traces. `CONTRIBUTING.md` has a complete example.
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
    """Decides which drafted tokens stay: pure, vectorised, without waiting for the device.

    `judge` gives a verdict on `draft` [N] from the target's `view` [N+1, V] of it.
    """


@runtime_checkable
class ReplayableRule(Protocol):
    """A rule whose greedy outcomes follow from matches and entropies, as traces record them."""

    def replay(self, match: Tensor, entropy: Tensor, top3: Tensor, vocab_size: int) -> Tensor:
        """The outcome of every node by itself: `match` [..., N] bool, the entropy of p at
        temperature 1 and that of its three largest probabilities [..., N] nats → [..., N]."""


def accepted_prefix(keep: Tensor) -> Tensor:
    """Length of the run of kept nodes from the start of chains: [..., N] bool → [...] int64."""
    return keep.long().cumprod(-1).sum(-1)


def chain_verdict(accepted: Tensor, next_token: Tensor, outcomes: Tensor) -> Verdict:
    """The verdict on a chain: its first `accepted` nodes, every later fate but one unvisited."""
    nodes = torch.arange(outcomes.shape[0], device=outcomes.device)
    visited = nodes <= accepted
    return Verdict(accepted, nodes, next_token, outcomes.where(visited, int(Outcome.NOT_REACHED)))


def match_outcomes(match: Tensor, outcome: Outcome) -> Tensor:
    """`outcome` for every match [...], and a rejection for the rest."""
    return torch.where(match, int(outcome), int(Outcome.REJECTED))


def match_verdict(draft: Draft, choice: Tensor, outcome: Outcome) -> Verdict:
    """Keep a node with `outcome` if it is the target's `choice` [N+1] after its parent."""
    match = draft.tokens == choice.index_select(0, draft.parents + 1)
    outcomes = match_outcomes(match, outcome)
    if draft.branches is not None:
        return tree_verdict(draft, draft.branches, match, choice, outcomes)
    accepted = accepted_prefix(match)
    return chain_verdict(accepted, pick(choice, accepted), outcomes)


def tree_verdict(
    draft: Draft, branches: Branches, match: Tensor, choice: Tensor, outcomes: Tensor
) -> Verdict:
    """The verdict on a tree; siblings differ, so that at most one path from the root matches."""
    size = len(draft)
    nodes = torch.arange(size, device=match.device)
    kept = ~(branches.ancestors & ~match).any(1)
    # Parents come before their children: in the order of the nodes, the path runs down.
    path = nodes.where(kept, size).sort().values.clamp(max=size - 1)
    last_row = (nodes + 1).where(kept, 0).max()
    visited = (draft.parents < 0) | kept[draft.parents]
    outcomes = outcomes.where(visited, int(Outcome.NOT_REACHED))
    return Verdict(kept.sum(), path, pick(choice, last_row), outcomes)


def pick(values: Tensor, index: Tensor) -> Tensor:
    """`values[index]` along the first axis for a device scalar, without a host read."""
    return values.index_select(0, index[None]).squeeze(0)
