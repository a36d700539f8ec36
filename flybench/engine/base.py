"""What an engine offers: a causal model with its cache, and the target built on one.

`CachedModel` is all that drafters see. `Target` is what the decode loop drives; its cache always
holds the committed tokens without the last one, which is the root of the next draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Verdict
from flybench.sampling import Sampling


def upload(ids: Sequence[int], device: torch.device) -> Tensor:
    """Token ids as a device tensor [T], without waiting for the device."""
    return torch.tensor(ids, dtype=torch.long).to(device, non_blocking=True)


Drawn = tuple[Tensor, Tensor | None]
"""Chosen ids [R], and the laws [R, V] they were drawn from (None if greedy)."""


class DraftPass(Protocol):
    """Reads `pending` ids (at least one), then chooses tokens one after another."""

    def __call__(self, pending: Sequence[int], generator: torch.Generator | None) -> Drawn: ...


class ReadPass(Protocol):
    """Reads `ids` in one pass and chooses a token after each of the last `rows`."""

    def __call__(
        self, ids: Sequence[int], rows: int, generator: torch.Generator | None
    ) -> Drawn: ...


class CachedModel(Protocol):
    """A causal language model and the keys and values of what it has read (batch 1).

    What drafters do with it is asked for once, before anything is timed, so that an engine can
    prepare each kind of pass.
    """

    device: torch.device
    vocab_size: int

    @property
    def length(self) -> int:
        """Tokens in the cache."""

    def ids(self, ids: Sequence[int]) -> Tensor:
        """`upload` to this model's device."""

    def prefill(self, ids: Sequence[int]) -> None:
        """Empty the cache and read `ids`."""

    def rollback(self, length: int) -> None:
        """Forget all but the first `length` tokens."""

    def drafting(self, count: int, sampling: Sampling) -> DraftPass:
        """A program that drafts `count` tokens; the last of them stays out of the cache."""

    def reading(self, widest: int, sampling: Sampling) -> ReadPass:
        """A program that reads up to `widest` ids at once and chooses after each of them."""


class Judge(Protocol):
    """Whatever judges as a verifier does (`flybench.verify.base.Verifier`)."""

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict: ...


class Target(Protocol):
    """The model whose output is wanted."""

    device: torch.device

    def prepare(
        self, judge: Judge, k: int, sampling: Sampling, tree: bool = False
    ) -> tuple[Target, Judge]:
        """Get ready for chains of up to `k` tokens, or for every `tree` of just so many.

        Returns the target as one method drives it, and `judge` as this engine runs it best. Methods
        on one model share its cache, so that one sample at a time is answered.
        """

    def prefill(self, ids: Sequence[int]) -> Tensor | None:
        """Start a new sample: read the prompt without its last token, which is the first root.

        Returns its hidden states [T, 3 · H], if the target is tapped (`engine.eagle3.taps`).
        """

    def score(self, root: int, draft: Draft) -> TargetView:
        """Read the root and the draft in one pass: logits [N+1, V], row 0 follows the root.

        The view holds until the next call.
        """

    def commit(self, path: Sequence[int]) -> None:
        """Keep the root and the accepted nodes of the draft just scored, forget the others.

        The nodes lie in the cache in the order of the draft; those that stay move up.
        """
