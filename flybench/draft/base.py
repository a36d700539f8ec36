"""The drafter's protocol, which the decode loop calls, and its models.

To add a drafter: one file beside this one, or anywhere (`method.draft.kind=file:PATH.py:CLASS`),
with a class of these three methods under `@drafter("KIND")`, a YAML in `conf/method/`, and a test.
`CONTRIBUTING.md` has a complete example.
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
    """What a drafter works with: the target's device, drafts of up to `k` tokens, the run's
    sampling, and the model that the drafter declares, if any."""

    device: torch.device
    k: int
    sampling: Sampling
    model: CachedModel | HeadModel | None = None

    @property
    def draft_model(self) -> CachedModel:
        """The model, of a drafter that declares `model="draft"`."""
        return cast(CachedModel, self.model)

    @property
    def head(self) -> HeadModel:
        """The model, of a drafter that declares `model="head"`."""
        return cast(HeadModel, self.model)


class Drafter(Protocol):
    """Proposes tokens; stateful within one sample, cold at the start of each."""

    def start(
        self, prompt_ids: Sequence[int], taps: Tensor | None, generator: torch.Generator | None
    ) -> None:
        """Forget everything and read a new prompt (its last token is the first root).

        `taps` [n − 1, 3 · H] are the target's hidden states of the rest, if the drafter asked.
        """

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        """At most `limit` tokens to follow `context`, all ids committed so far; maybe none."""

    def observe(self, draft: Draft, view: TargetView, decision: Decision) -> None:
        """Learn the decision on the draft and roll back: state may lag the text, never lead it."""
