"""Interface of an engine: a causal model with its cache, and the target built on one.

Drafters use a `CachedModel`, the decode loop a `Target`. The cache of a target always contains
the committed tokens except the last one, which is the root of the next draft.
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
    """Copy token ids to a device tensor [T] without waiting for the device."""
    return torch.tensor(ids, dtype=torch.long).to(device, non_blocking=True)


Drawn = tuple[Tensor, Tensor | None]
"""Chosen ids [R], and the probabilities [R, V] they were drawn from (None if greedy)."""


class DraftPass(Protocol):
    """Reads `pending` ids (at least one), then chooses tokens one after another."""

    def __call__(self, pending: Sequence[int], generator: torch.Generator | None) -> Drawn: ...


class ReadPass(Protocol):
    """Reads `ids` in one pass and chooses a token after each of the last `rows`."""

    def __call__(
        self, ids: Sequence[int], rows: int, generator: torch.Generator | None
    ) -> Drawn: ...


class CachedModel(Protocol):
    """A causal language model and its KV cache (batch 1).

    Drafters request their passes once, before anything is timed, and the engine prepares them.
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
        """Truncate the cache to its first `length` tokens."""

    def drafting(self, count: int, sampling: Sampling) -> DraftPass:
        """Return a pass that drafts `count` tokens; the last one is not added to the cache."""

    def reading(self, widest: int, sampling: Sampling) -> ReadPass:
        """Return a pass that reads up to `widest` ids and chooses a token after each of them."""


class RoundVerifier(Protocol):
    """A verifier, as an engine sees it (`flybench.verify.base.Verifier`)."""

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict: ...


class Target(Protocol):
    """The target model, which verifies drafts."""

    device: torch.device

    def prepare(
        self, verifier: RoundVerifier, k: int, sampling: Sampling, tree: bool = False
    ) -> tuple[Target, RoundVerifier]:
        """Prepare for chains of up to `k` tokens, or for trees of exactly `k`.

        Returns the target for one method, and `verifier` in the form that is fastest on this
        engine. Methods on one model share its cache and decode one sample at a time.
        """

    def prefill(self, ids: Sequence[int]) -> Tensor | None:
        """Start a new sample: read the prompt without its last token, which is the first root.

        Returns its hidden states [T, 3 · H], if the target is tapped (`engine.eagle3.taps`).
        """

    def score(self, root: int, draft: Draft) -> TargetView:
        """Run the root and the draft in one pass: logits [N+1, V], row 0 follows the root.

        The view is valid until the next call.
        """

    def commit(self, path: Sequence[int]) -> None:
        """Keep the root and the accepted nodes of the last draft in the cache, and drop the others.

        The nodes are cached in the order of the draft; the kept ones are compacted.
        """
