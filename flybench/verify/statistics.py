"""A verifier that also keeps the target's statistics of the loose tokens; it decides nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Verdict, target_statistics
from flybench.sampling import Sampling
from flybench.verify.base import Verifier


@dataclass(frozen=True)
class StatisticsVerifier:
    """A loose `rule` with the target's statistics, which reach the host in the round's one copy."""

    rule: Verifier

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        verdict = self.rule.judge(draft, view, sampling, generator)
        return replace(verdict, loose_statistics=target_statistics(draft, view))
