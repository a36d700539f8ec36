"""Exact verification: a drafted token stays if it is the target's own greedy choice.

Only for greedy decoding; under sampling the lossless counterpart is `rejection.py`.
"""

from __future__ import annotations

import torch

from flybench.core.declare import verifier
from flybench.core.drafts import Draft, TargetView
from flybench.core.outcomes import Outcome
from flybench.core.verdicts import Verdict
from flybench.sampling import Sampling
from flybench.verify.base import match_verdict


@verifier("exact", lossless=True, trees=True, sampling="greedy")
class ExactVerifier:
    """Keeps the longest path equal to the target's argmax; the output is the greedy one."""

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        return match_verdict(draft, view.statistics.choice, Outcome.EXACT)
