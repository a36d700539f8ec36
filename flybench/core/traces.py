"""What the target thought at each row of a round, kept where a run is asked for traces."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from flybench.core.drafts import Draft, TargetView


class RowTrace(NamedTuple):
    """The target's law after the root and the drafted tokens before one row, at temperature 1.

    `token` is the drafted id that the row judges, −1 in the last row of a round, which judges none;
    `choice` is the target's favourite id; `entropy` is that of the softmax and `top3_entropy` the
    sum over its three largest probabilities of −p ln p, both in nats; `probability` is the drafted
    token's, NaN without one; `draft_probability` is the drafter's of its own token, NaN where it
    gives none.
    """

    token: float
    choice: float
    entropy: float
    top3_entropy: float
    probability: float
    max_probability: float
    draft_probability: float

    @classmethod
    def rows(cls, draft: Draft, view: TargetView) -> Tensor:
        """Every row of a chain as fp32 numbers [N+1, 7], on the device and without waiting."""
        statistics, tokens = view.statistics, draft.tokens[:, None]
        own = view.logits[:-1].gather(1, tokens).squeeze(1) - statistics.log_normaliser[:-1]
        unknown = own.new_full((1,), float("nan"))
        drawn = unknown.expand(len(draft)) if draft.probs is None else draft.probs.gather(1, tokens)
        top = statistics.top_probabilities
        parts = (
            torch.cat([draft.tokens, draft.tokens.new_full((1,), -1)]),
            statistics.choice,
            statistics.entropy,
            top3_entropy(top),
            torch.cat([own.exp(), unknown]),
            top[:, 0],
            torch.cat([drawn.flatten(), unknown]),
        )
        return torch.stack([part.float() for part in parts], 1)


def top3_entropy(top: Tensor) -> Tensor:
    """Sum of −p ln p over the three largest probabilities: [R, 3] → [R] nats, at most ln 3."""
    return torch.special.entr(top).sum(-1)
