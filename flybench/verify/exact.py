"""Exact verification: a drafted token stays if it is the target's own greedy choice.

Greedy decoding alone; under sampling the lossless counterpart is `rejection.py`.
"""

from __future__ import annotations

import torch

from flybench.core import Draft, Fate, TargetView, Verdict
from flybench.sampling import Sampling
from flybench.verify.base import accepted_prefix, chain_verdict, pick


class ExactVerifier:
    """Keeps the longest prefix equal to the target's argmax; the output is the greedy one."""

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        choice = view.statistics.choice
        match = draft.tokens == choice[:-1]
        accepted = accepted_prefix(match)
        fates = torch.where(match, int(Fate.EXACT), int(Fate.REJECTED))
        return chain_verdict(accepted, pick(choice, accepted), fates)
