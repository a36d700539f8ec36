"""A draft model that is itself sped up by prompt lookup (FLy's multi-level acceleration).

The draft model reads looked-up tokens in one pass and chooses its own token at every position; the
proposal is kept as far as it equals those choices. What comes out is therefore exactly what the
draft model alone would have drafted, greedy or sampled, in fewer passes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Decision
from flybench.draft.lookup import NgramIndex
from flybench.engine.base import CachedModel
from flybench.sampling import Sampling, generator_on


class NestedDrafter:
    """Drafts with `model`; `lookup_tokens` ids are looked up for each of its passes."""

    def __init__(
        self,
        model: CachedModel,
        sampling: Sampling,
        ngram_max: int,
        ngram_min: int,
        lookup_tokens: int,
    ) -> None:
        self._model = model
        self._sampling = sampling
        self._sizes = (ngram_max, ngram_min)
        self._lookup_tokens = lookup_tokens

    def start(
        self, prompt_ids: Sequence[int], taps: Tensor | None, generator: torch.Generator | None
    ) -> None:
        self._generator = generator_on(self._model.device, generator)
        self._index = NgramIndex(*self._sizes)
        self._model.prefill(prompt_ids[:-1])

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        self._index.extend(context[len(self._index) :])
        self._model.rollback(min(self._model.length, len(context) - 1))
        text, laws = list(context), []
        while len(text) < len(context) + limit:
            chosen, probs = self._pass(text)
            self._index.extend(chosen)
            text += chosen
            if probs is not None:
                laws.append(probs)
        self._index.truncate(len(context))
        tokens = self._model.ids(text[len(context) : len(context) + limit])
        return Draft.chain(tokens, torch.cat(laws)[:limit] if laws else None)

    def _pass(self, text: list[int]) -> tuple[list[int], Tensor | None]:
        """One forward of the draft model: the ids it chose (≥ 1) and the laws behind them."""
        pending = text[self._model.length :]
        guess = self._index.follow(self._lookup_tokens)
        # Two ids may be pending at the start of a round, and one after that.
        read = self._model.reading(self._lookup_tokens + 2, self._sampling)
        ids, probs = read(pending + guess, len(guess) + 1, self._generator)
        choice = ids.tolist()
        agreed = next(
            (i for i, (a, b) in enumerate(zip(choice, guess, strict=False)) if a != b), len(guess)
        )
        self._model.rollback(len(text) + agreed)
        return choice[: agreed + 1], None if probs is None else probs[: agreed + 1]

    def observe(self, draft: Draft, view: TargetView, decision: Decision) -> None:
        """Drop what the target rejected: the context was `base` long, its last token the root."""
        base = len(self._index)
        self._model.rollback(min(self._model.length, base + len(decision.path)))
