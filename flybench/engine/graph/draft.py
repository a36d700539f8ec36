"""A complete draft of K tokens as one CUDA graph, replayed with a single launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from flybench.engine.base import Drawn
from flybench.engine.graph.capture import capture
from flybench.engine.kernels.row_statistics import row_statistics
from flybench.sampling import Sampling


class Drafting(Protocol):
    """Interface of a `GraphModel` for a captured draft."""

    device: torch.device
    vocab_size: int
    input_buffer: Tensor

    def load(self, ids: Sequence[int], width: int) -> None: ...

    def advance(self, tokens: int) -> None: ...

    def logits(self, ids: Tensor, base: Tensor, slots: Tensor, rows: int) -> Tensor: ...


class CapturedDraft:
    """A `DraftPass` with one graph for each number of pending ids: one, or two after a draft that
    was accepted whole. Random numbers are drawn before the replay."""

    def __init__(self, model: Drafting, count: int, sampling: Sampling) -> None:
        self._model = model
        self._count = count
        self._sampling = sampling
        self._noise = sampling.noise((count, model.vocab_size), model.device, None)
        self._programs: dict[int, Callable[[], Drawn]] = {
            pending: capture(partial(self._work, pending), model.device) for pending in (1, 2)
        }

    def __call__(self, pending: Sequence[int], generator: torch.Generator | None) -> Drawn:
        self._model.load(pending, len(pending) + self._count)
        if self._noise is not None:
            self._noise.exponential_(generator=generator)
        drawn = self._programs[len(pending)]()
        self._model.advance(len(pending) + self._count - 1)
        return drawn

    def _work(self, pending: int) -> Drawn:
        model, device = self._model, self._model.device
        base, unread = model.input_buffer[:1], model.input_buffer[1 : 1 + pending]
        logits = model.logits(unread, base, base + torch.arange(pending, device=device), 1)
        # Compiled code needs aligned addresses, so each step's slot has a separate row.
        steps = torch.arange(pending, pending + self._count - 1, device=device)
        slots = (base + steps)[:, None].repeat(1, 2)
        chosen = [self._choose(logits, 0)]
        for step in range(1, self._count):
            slot = slots[step - 1, :1]
            logits = model.logits(chosen[-1][0], slot, slot, 1)
            chosen.append(self._choose(logits, step))
        probs_by_step = [probs for _, probs in chosen if probs is not None]
        return torch.cat([token for token, _ in chosen]), torch.cat(
            probs_by_step
        ) if probs_by_step else None

    def _choose(self, logits: Tensor, step: int) -> Drawn:
        if self._noise is None:
            return row_statistics(logits).choice, None
        return self._sampling.choose(logits.float(), self._noise[step : step + 1])
