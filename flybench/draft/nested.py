"""A draft model accelerated by prompt lookup (FLy's multi-level acceleration).

The draft model reads looked-up tokens in one pass and chooses its own token at every position.
Looked-up tokens are accepted as long as they equal these choices. The draft is therefore the same
as without lookup, greedy or sampled, but takes fewer passes of the draft model.
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
from flybench.draft.lookup import NgramIndex
from flybench.draft.model import GREEDY
from flybench.sampling import generator_on


@drafter("nested", model="draft")
class NestedDrafter:
    """Drafts with the draft model; `lookup_tokens` ids are looked up for each of its passes."""

    setup: DraftSetup
    ngram_max: int = parameter(
        default=4, low=1, high=64, unit="tokens", help="longest n-gram looked up"
    )
    ngram_min: int = parameter(
        default=1, low=1, high="ngram_max", unit="tokens", help="shortest n-gram looked up"
    )
    lookup_tokens: int = parameter(
        default=6, low=1, unit="tokens", help="ids looked up for a pass of the draft model"
    )
    draw: Literal["sample", "greedy"] = parameter(
        default="sample", help="how the draft model picks its tokens when the target samples"
    )

    def __post_init__(self) -> None:
        self._model = self.setup.draft_model
        self._sampling = GREEDY if self.draw == "greedy" else self.setup.sampling
        self._model.reading(self.lookup_tokens + 2, self._sampling)

    def start(
        self, prompt_ids: Sequence[int], taps: Tensor | None, generator: torch.Generator | None
    ) -> None:
        self._generator = generator_on(self._model.device, generator)
        self._index = NgramIndex(self.ngram_max, self.ngram_min)
        self._model.prefill(prompt_ids[:-1])

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        self._index.extend(context[len(self._index) :])
        self._model.rollback(min(self._model.length, len(context) - 1))
        text, q = list(context), []
        while len(text) < len(context) + limit:
            chosen, probs = self._pass(text)
            self._index.extend(chosen)
            text += chosen
            if probs is not None:
                q.append(probs)
        self._index.truncate(len(context))
        tokens = self._model.ids(text[len(context) : len(context) + limit])
        return Draft.chain(tokens, torch.cat(q)[:limit] if q else None)

    def _pass(self, text: list[int]) -> tuple[list[int], Tensor | None]:
        """Run the draft model once; return the ids that it chose (≥ 1) and q at each."""
        pending = text[self._model.length :]
        guess = self._index.follow(self.lookup_tokens)
        # Up to two ids are pending at the start of a round, and one in later passes.
        read = self._model.reading(self.lookup_tokens + 2, self._sampling)
        ids, probs = read(pending + guess, len(guess) + 1, self._generator)
        choice = ids.tolist()
        agreed = next(
            (i for i, (a, b) in enumerate(zip(choice, guess, strict=False)) if a != b), len(guess)
        )
        self._model.rollback(len(text) + agreed)
        return choice[: agreed + 1], None if probs is None else probs[: agreed + 1]

    def observe(self, draft: Draft, view: TargetView, decision: Decision) -> None:
        """Roll back what the target rejected."""
        base = len(self._index)
        self._model.rollback(min(self._model.length, base + len(decision.path)))
