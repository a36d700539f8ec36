"""The drafter of AR: with empty drafts, the decode loop is autoregressive decoding."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from flybench.core.declare import drafter
from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Decision
from flybench.draft.base import DraftSetup


@drafter("none")
class NoDrafter:
    """Proposes no tokens, so every round is one autoregressive step."""

    setup: DraftSetup

    def __post_init__(self) -> None:
        self._empty = Draft.chain(torch.empty(0, dtype=torch.long, device=self.setup.device))

    def start(
        self, prompt_ids: Sequence[int], taps: Tensor | None, generator: torch.Generator | None
    ) -> None:
        pass

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        return self._empty

    def observe(self, draft: Draft, view: TargetView, decision: Decision) -> None:
        pass
