"""The protocol of drafters, which the decode loop calls.

To add a drafter, write a class with these three methods and the decorator `@drafter("KIND")` in a
file next to this one (or anywhere, with `method.draft.kind=file:PATH.py:CLASS`), a YAML file in
`conf/method/`, and a test. `CONTRIBUTING.md` has a complete example.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import torch
from torch import Tensor

from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Decision
from flybench.engine.base import CachedModel
from flybench.engine.eagle3.model import HeadModel
from flybench.sampling import Sampling


@dataclass(frozen=True)
class DraftSetup:
    """The arguments of a drafter: the target's device, the draft length `k`, the sampling of the
    run, and the model that the drafter declares, if any."""

    device: torch.device
    k: int
    sampling: Sampling
    model: CachedModel | HeadModel | None = None

    @property
    def draft_model(self) -> CachedModel:
        """The model of a drafter that declares `model="draft"`."""
        return cast(CachedModel, self.model)

    @property
    def head(self) -> HeadModel:
        """The model of a drafter that declares `model="head"`."""
        return cast(HeadModel, self.model)


class Drafter(Protocol):
    """Proposes tokens. Its state is reset at the start of each sample."""

    def start(
        self, prompt_ids: Sequence[int], taps: Tensor | None, generator: torch.Generator | None
    ) -> None:
        """Reset the state and read a new prompt, whose last token is the first root.

        `taps` [n − 1, 3 · H] are the target's hidden states of the other tokens, if the drafter
        needs them.
        """

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        """Propose at most `limit` tokens (or none) after `context`, all ids committed so far."""

    def observe(self, draft: Draft, view: TargetView, decision: Decision) -> None:
        """Update the state; it may lag behind the committed text but must not run ahead of it."""
