"""A verifier that also keeps what the target thought of each drafted token; decides nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from flybench.core import Draft, RowTrace, TargetView, Verdict
from flybench.sampling import Sampling
from flybench.verify.base import Verifier


@dataclass(frozen=True)
class TracingVerifier:
    """`verifier` with traces: they reach the host in the one copy of a round."""

    verifier: Verifier

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        verdict = self.verifier.judge(draft, view, sampling, generator)
        return replace(verdict, traces=RowTrace.rows(draft, view))
