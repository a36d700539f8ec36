"""Captured passes of an EAGLE-3 head over pairs of a token and a feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from flybench.engine.base import upload
from flybench.engine.eagle3.model import HeadModel
from flybench.engine.graph.capture import capture

T = TypeVar("T")
Result = TypeVar("Result", covariant=True)


class PairPass(Protocol[Result]):
    """A pass over `ids` [P] and `taps` [P, 3 · H_t] after `base` [1] cached pairs.

    The first `count` [1] pairs are valid. Only the first `live` cache slots are used.
    """

    def __call__(
        self, ids: Tensor, taps: Tensor, base: Tensor, count: Tensor, live: int
    ) -> Result: ...


class CapturedPass(Generic[T]):
    """A pass `work` over up to `pairs` pairs, captured once and replayed with new inputs.

    Padding is written to the cache after the valid pairs, where it is not read.
    """

    def __init__(self, model: HeadModel, pairs: int, work: PairPass[T]) -> None:
        weight = model.head.fc.weight
        self._device = model.device
        # base, count and ids, in one copy to the device
        self._numbers = torch.zeros(2 + pairs, dtype=torch.long, device=model.device)
        self._numbers[1] = 1
        self._taps = weight.new_zeros(pairs, 3 * model.head.config.target_hidden_size)
        base, count, ids = self._numbers[:1], self._numbers[1:2], self._numbers[2:]
        program = partial(work, ids, self._taps, base, count, model.slots)
        self._replay: Callable[[], T] = capture(program, model.device)

    def __call__(self, ids: Sequence[int], taps: Tensor, base: int) -> T:
        count = len(ids)
        self._numbers[: 2 + count] = upload([base, count, *ids], self._device)
        self._taps[:count] = taps
        return self._replay()
