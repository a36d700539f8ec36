"""A wrapper that adds traces of the target's distribution to the verdicts of a rule."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from flybench.core.drafts import Draft, TargetView, top3_entropy
from flybench.core.verdicts import Verdict
from flybench.sampling import Sampling
from flybench.verify.base import Verifier


@dataclass(frozen=True)
class TracingVerifier:
    """A `verifier` whose verdicts include traces, without an extra host sync."""

    verifier: Verifier

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        verdict = self.verifier.judge(draft, view, sampling, generator)
        return replace(verdict, traces=trace_rows(draft, view))


def trace_rows(draft: Draft, view: TargetView) -> Tensor:
    """Return the fields of `RowTrace` for every row of a chain, fp32 [N+1, 7]."""
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
