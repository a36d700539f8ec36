"""A wrapper that adds the target's statistics to the verdicts of a loose rule."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Verdict, target_statistics
from flybench.sampling import Sampling
from flybench.verify.base import Verifier


@dataclass(frozen=True)
class StatisticsVerifier:
    """A loose `rule` whose verdicts include the target's statistics, without an extra host sync."""

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
