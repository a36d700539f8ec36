"""A pass over pairs of a token and a feature, recorded once; it reads them where they are put."""

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
Found = TypeVar("Found", covariant=True)


class OverPairs(Protocol[Found]):
    """Reads `ids` [P] and `taps` [P, 3 · H_t] behind `base` [1] others; `count` [1] of them count,
    and all lies in the first `live` slots."""

    def __call__(
        self, ids: Tensor, taps: Tensor, base: Tensor, count: Tensor, live: int
    ) -> Found: ...


class Recorded(Generic[T]):
    """`work` on up to `pairs` pairs. What is there beside those that count lands behind them, where
    nothing reads it."""

    def __init__(self, model: HeadModel, pairs: int, work: OverPairs[T]) -> None:
        weight = model.head.fc.weight
        self._device = model.device
        # base, count, ids: one copy to the device brings them all.
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
