"""Drafting with a small model, one token after another (SpS, Leviathan et al. 2023).

The draft stays on the device: no token is copied to the host before it is verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from flybench.core.declare import drafter, parameter
from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Decision
from flybench.draft.base import DraftSetup
from flybench.sampling import Sampling, generator_on

GREEDY = Sampling()


@drafter("model", model="draft")
class ModelDrafter:
    """Drafts with a draft model and the sampling of the run, which is greedy at temperature 0."""

    setup: DraftSetup
    draw: Literal["sample", "greedy"] = parameter(
        default="sample", help="how the draft model picks its tokens when the target samples"
    )

    def __post_init__(self) -> None:
        self._model = self.setup.draft_model
        self._sampling = GREEDY if self.draw == "greedy" else self.setup.sampling
        self._model.drafting(self.setup.k, self._sampling)

    def start(
        self, prompt_ids: Sequence[int], taps: Tensor | None, generator: torch.Generator | None
    ) -> None:
        self._generator = generator_on(self._model.device, generator)
        self._model.prefill(prompt_ids[:-1])

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        if not limit:
            return Draft.chain(self._model.ids([]))
        self._model.rollback(min(self._model.length, len(context) - 1))
        draft = self._model.drafting(limit, self._sampling)
        return Draft.chain(*draft(context[self._model.length :], self._generator))

    def observe(self, draft: Draft, view: TargetView, decision: Decision) -> None:
        """Roll back rejected tokens; the cache may lack the last draft token, never fed to it."""
        fed = self._model.length - (len(draft) - 1) if len(draft) else self._model.length
        self._model.rollback(min(self._model.length, fed + len(decision.path)))
