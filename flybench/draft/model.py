"""A small model drafts, one token after another (SpS, Leviathan et al. 2023).

The whole draft stays on the device: no token is read back before the target has judged it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from flybench.core import Decision, Draft, TargetView
from flybench.engine.base import CachedModel
from flybench.sampling import Sampling, generator_on


class ModelDrafter:
    """Draws each token from the draft model under `sampling`; greedy at temperature 0."""

    def __init__(self, model: CachedModel, sampling: Sampling) -> None:
        self._model = model
        self._sampling = sampling

    def start(self, prompt_ids: Sequence[int], generator: torch.Generator | None) -> None:
        self._generator = generator_on(self._model.device, generator)
        self._model.reset()
        self._model.extend(self._model.ids(prompt_ids[:-1]), rows=0)

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        self._model.rollback(min(self._model.length, len(context) - 1))
        pending = self._model.ids(context[self._model.length :])
        tokens, laws = [], []
        for _ in range(limit):
            logits = self._model.extend(pending, rows=1)
            pending, probs = self._sampling.choose(logits, self._generator)
            tokens.append(pending)
            laws.append(probs)
        if not tokens:
            return Draft.chain(self._model.ids([]))
        drawn = [law for law in laws if law is not None]
        return Draft.chain(torch.cat(tokens), torch.cat(drawn) if drawn else None)

    def observe(self, draft: Draft, view: TargetView, decision: Decision) -> None:
        """Drop rejected tokens; the last drafted one was never fed, so the cache may lag by it."""
        fed = self._model.length - (len(draft) - 1) if len(draft) else self._model.length
        self._model.rollback(min(self._model.length, fed + len(decision.path)))
