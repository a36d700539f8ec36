"""Drafts, and the target's logits for them.

Shapes: N = draft nodes, R = rows, V = vocabulary. Batch is always 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class Branches(NamedTuple):
    """The shape of a tree draft.

    Row i of `ancestors` [N, N] bool marks the path to node i, including i. Siblings have different
    tokens.
    """

    ancestors: Tensor

    @classmethod
    def of(cls, parents: Tensor) -> Branches:
        """Compute the ancestors from parents [N] (−1 for a child of the root) without a sync."""
        size = parents.shape[0]
        nodes = torch.arange(size, device=parents.device)
        paths = (nodes[:, None] == nodes) | (parents[:, None] == nodes)
        for _ in range(max(size - 1, 1).bit_length()):  # each step doubles the path length
            paths = (paths.float() @ paths.float()) > 0
        return cls(paths)


@dataclass(frozen=True)
class Draft:
    """Proposed tokens as a tree whose root is the last committed token.

    `tokens` [N] int64; `parents` [N] int64, −1 for a child of the root, and parents come before
    children; `probs` [N, V] is the distribution q that each token was sampled from, None for a
    deterministic choice; `branches` is None for a chain.
    """

    tokens: Tensor
    parents: Tensor
    probs: Tensor | None = None
    branches: Branches | None = None

    @classmethod
    def chain(cls, tokens: Tensor, probs: Tensor | None = None) -> Draft:
        """Return a draft in which every token is the child of the one before it."""
        parents = torch.arange(-1, tokens.shape[0] - 1, device=tokens.device)
        return cls(tokens, parents, probs)

    def __len__(self) -> int:
        return self.tokens.shape[0]

    def to(self, device: torch.device) -> Draft:
        """Return the draft on `device`."""
        if self.tokens.device == device:
            return self
        probs = None if self.probs is None else self.probs.to(device)
        branches = self.branches and Branches(self.branches.ancestors.to(device))
        return Draft(self.tokens.to(device), self.parents.to(device), probs, branches)


class RowStatistics(NamedTuple):
    """Statistics of rows of logits [R, V] that rules need, computed in one pass.

    `choice` [R] int64 is the argmax, `top` [R, 3] the three largest logits in descending order,
    `log_normaliser` [R] the logsumexp, `entropy` [R] the entropy of the softmax in nats.
    """

    choice: Tensor
    top: Tensor
    log_normaliser: Tensor
    entropy: Tensor

    @classmethod
    def of(cls, logits: Tensor) -> RowStatistics:
        """Compute the statistics of fp32 logits [R, V]; `top` is [R, V] if V < 3."""
        top = logits.topk(min(3, logits.shape[-1]), dim=-1)
        log_normaliser = logits.logsumexp(-1)
        probs = (logits - log_normaliser[:, None]).exp()
        return cls(
            # argmax returns the first of equal logits, like greedy decoding elsewhere; topk may not
            choice=logits.argmax(-1),
            top=top.values,
            log_normaliser=log_normaliser,
            entropy=torch.special.entr(probs).sum(-1),
        )

    @property
    def top_probabilities(self) -> Tensor:
        """The three largest probabilities [R, 3], in descending order."""
        return (self.top - self.log_normaliser[:, None]).exp()

    @property
    def margins(self) -> Tensor:
        """The difference of the two largest logits [R]."""
        return self.top[:, 0] - self.top[:, 1]


@dataclass(frozen=True)
class TargetView:
    """The target's output for a draft.

    `logits` [N+1, V] fp32 has the root in row 0 and node i in row i+1. `statistics` are those of
    the same rows. `taps` returns their hidden states [N+1, 3 · H], if the drafter needs them.
    """

    logits: Tensor
    statistics: RowStatistics
    taps: Callable[[], Tensor] | None = None

    @classmethod
    def of(cls, logits: Tensor, taps: Callable[[], Tensor] | None = None) -> TargetView:
        """Build a view from logits and compute their statistics."""
        return cls(logits, RowStatistics.of(logits), taps)


def top3_entropy(top: Tensor) -> Tensor:
    """Return the sum of −p ln p over the three largest probabilities, [R, 3] → [R] nats."""
    return torch.special.entr(top).sum(-1)
