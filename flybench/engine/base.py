"""What an engine offers: a causal model with its cache, and the target built on one.

`CachedModel` is all that drafters see. `Target` is what the decode loop drives; its cache always
holds the committed tokens without the last one, which is the root of the next draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from flybench.core import Draft, TargetView


def upload(ids: Sequence[int], device: torch.device) -> Tensor:
    """Token ids as a device tensor [T], without waiting for the device."""
    return torch.tensor(ids, dtype=torch.long).to(device, non_blocking=True)


class CachedModel(Protocol):
    """A causal language model and the keys and values of what it has read (batch 1)."""

    device: torch.device
    vocab_size: int

    @property
    def length(self) -> int:
        """Tokens in the cache."""

    def reset(self) -> None:
        """Empty the cache."""

    def ids(self, ids: Sequence[int]) -> Tensor:
        """`upload` to this model's device."""

    def extend(self, ids: Tensor, rows: int) -> Tensor:
        """Read ids [T] after the cache; fp32 logits [rows, vocab_size] of the last `rows`."""

    def rollback(self, length: int) -> None:
        """Forget all but the first `length` tokens."""


class Target(Protocol):
    """The model whose output is wanted."""

    device: torch.device

    def prefill(self, ids: Sequence[int]) -> None:
        """Start a new sample: read the prompt without its last token, which is the first root."""

    def score(self, root: int, draft: Draft) -> TargetView:
        """Read the root and the draft in one pass: logits [N+1, V], row 0 follows the root."""

    def commit(self, path: Sequence[int]) -> None:
        """Keep the root and the accepted nodes of the draft just scored, forget the others."""
