"""Exact verification: a draft token is accepted if it equals the target's argmax.

This rule is for greedy decoding; `rejection.py` is the lossless counterpart for sampling.
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
    """Accepts the longest path that equals the target's argmax; the output is AR's."""

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        return match_verdict(draft, view.statistics.choice, Outcome.EXACT)
