"""Rejection sampling: the output has the target's distribution for any draft.

Source: Leviathan et al. 2023 and Chen et al. 2023. Accept x with probability min(1, p(x)/q(x)). At
the first rejection, draw from max(0, p − q), normalised. If all tokens are accepted, draw a bonus
token from p. For a deterministic draft q is a point mass, so x is accepted with probability p(x).

The nodes of a tree are deterministic. SpecInfer (arXiv 2305.09781) visits siblings in turn, accepts
x with its probability under the remaining p, and removes x from p on rejection. In total each child
is accepted with probability p(x). One draw from p per node is equivalent: a child that equals the
draw is accepted, otherwise the draw is the next token.
"""

from __future__ import annotations

import torch
from torch import Tensor

from flybench.core.declare import verifier
from flybench.core.drafts import Draft, TargetView
from flybench.core.outcomes import Outcome
from flybench.core.verdicts import Verdict
from flybench.sampling import Sampling, draw
from flybench.verify.base import accepted_prefix, chain_verdict, match_verdict, pick


@verifier("exact", lossless=True, trees=True, sampling="sampled")
class RejectionVerifier:
    """Lossless verification at temperature > 0."""

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        p = sampling.warp(view.logits)
        if draft.branches is not None:
            return match_verdict(draft, draw(p, generator), Outcome.SAMPLED)
        keep = accept(draft, p, generator)
        accepted = accepted_prefix(keep)
        outcomes = torch.where(keep, int(Outcome.SAMPLED), int(Outcome.REJECTED))
        return chain_verdict(accepted, draw_next(draft, p, accepted, generator), outcomes)


def accept(draft: Draft, p: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw the acceptance of each node independently, p [N+1, V] → [N] bool."""
    tokens = draft.tokens[:, None]
    p = p[:-1].gather(1, tokens).squeeze(1)
    q = torch.ones_like(p) if draft.probs is None else draft.probs.gather(1, tokens).squeeze(1)
    uniform = torch.empty_like(p).uniform_(generator=generator)
    return uniform * q < p


def draw_next(
    draft: Draft, p: Tensor, accepted: Tensor, generator: torch.Generator | None
) -> Tensor:
    """Draw the token after `accepted` nodes: from the residual at a rejection, else from p."""
    p = pick(p, accepted)
    if not len(draft):
        return draw(p, generator)
    rejected = accepted.clamp(max=len(draft) - 1)
    if draft.probs is None:
        q = torch.zeros_like(p).scatter(0, pick(draft.tokens, rejected)[None], 1.0)
    else:
        q = pick(draft.probs, rejected)
    residual = (p - q * (accepted < len(draft))).clamp_min(0)
    # In low precision p and q can be equal, which leaves no mass; the limit is p.
    return draw(torch.where(residual.sum() > 0, residual, p), generator)
