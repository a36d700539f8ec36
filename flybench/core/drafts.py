"""What a drafter proposes and what the target says of it.

Shapes: N = drafted nodes, R = rows, V = vocabulary. Batch is always 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class Branches(NamedTuple):
    """The shape of a draft that is no chain: `ancestors` [N, N] bool has each node's path in its
    row, itself included; siblings differ in their tokens."""

    ancestors: Tensor

    @classmethod
    def of(cls, parents: Tensor) -> Branches:
        """From parents [N], −1 for a child of the root; nothing waits for the device."""
        size = parents.shape[0]
        nodes = torch.arange(size, device=parents.device)
        paths = (nodes[:, None] == nodes) | (parents[:, None] == nodes)
        for _ in range(max(size - 1, 1).bit_length()):  # each turn doubles the reach
            paths = (paths.float() @ paths.float()) > 0
        return cls(paths)


@dataclass(frozen=True)
class Draft:
    """Proposed tokens as a tree whose root is the last committed token.

    `tokens` [N] int64; `parents` [N] int64, −1 for a child of the root, always before the child;
    `probs` [N, V] is the law that each token was sampled from, None for a deterministic choice;
    `branches` is None for a chain.
    """

    tokens: Tensor
    parents: Tensor
    probs: Tensor | None = None
    branches: Branches | None = None

    @classmethod
    def chain(cls, tokens: Tensor, probs: Tensor | None = None) -> Draft:
        """A draft without branches: every token is the child of the one before it."""
        parents = torch.arange(-1, tokens.shape[0] - 1, device=tokens.device)
        return cls(tokens, parents, probs)

    def __len__(self) -> int:
        return self.tokens.shape[0]

    def to(self, device: torch.device) -> Draft:
        """The same draft where the target can judge it."""
        if self.tokens.device == device:
            return self
        probs = None if self.probs is None else self.probs.to(device)
        branches = self.branches and Branches(self.branches.ancestors.to(device))
        return Draft(self.tokens.to(device), self.parents.to(device), probs, branches)


class RowStatistics(NamedTuple):
    """What rules ask of rows of logits [R, V], so that V-wide tensors are read only once.

    `choice` [R] int64 is the argmax, `top` [R, 3] the three largest logits in falling order,
    `log_normaliser` [R] the log of the sum of exp(logit), `entropy` [R] that of the softmax, nats.
    """

    choice: Tensor
    top: Tensor
    log_normaliser: Tensor
    entropy: Tensor

    @classmethod
    def of(cls, logits: Tensor) -> RowStatistics:
        """Computed from fp32 logits [R, V]; fewer than three words leave `top` narrower."""
        top = logits.topk(min(3, logits.shape[-1]), dim=-1)
        log_normaliser = logits.logsumexp(-1)
        law = (logits - log_normaliser[:, None]).exp()
        return cls(
            # argmax, not topk, for the first of equal logits: what greedy decoding means everywhere
            choice=logits.argmax(-1),
            top=top.values,
            log_normaliser=log_normaliser,
            entropy=torch.special.entr(law).sum(-1),
        )

    @property
    def top_probabilities(self) -> Tensor:
        """The three largest probabilities [R, 3]; the first is max p."""
        return (self.top - self.log_normaliser[:, None]).exp()

    @property
    def margins(self) -> Tensor:
        """The gap between the two largest logits [R]."""
        return self.top[:, 0] - self.top[:, 1]


@dataclass(frozen=True)
class TargetView:
    """What the target says of a draft: `logits` [N+1, V] fp32, row 0 = root, row i+1 = node i.

    `statistics` are the rows', which engines compute in the same pass; `taps` gives hidden states
    of the same rows [N+1, 3 · H], where a drafter asked for them.
    """

    logits: Tensor
    statistics: RowStatistics
    taps: Callable[[], Tensor] | None = None

    @classmethod
    def of(cls, logits: Tensor, taps: Callable[[], Tensor] | None = None) -> TargetView:
        """A view with the statistics of its own logits."""
        return cls(logits, RowStatistics.of(logits), taps)


def top3_entropy(top: Tensor) -> Tensor:
    """Sum of −p ln p over the three largest probabilities: [R, 3] → [R] nats, at most ln 3."""
    return torch.special.entr(top).sum(-1)
