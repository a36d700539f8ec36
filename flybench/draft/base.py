"""What a drafter is: the protocol that the decode loop speaks.

To add one: a file beside this one with a class of these three methods, a line in
`flybench/draft/__init__.py`, a YAML in `conf/method/`, and a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Decision


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
        """Learn what became of the draft and roll back: state may lag the text, never lead it."""
