"""Prompt lookup: propose the tokens after an earlier occurrence of the last n-gram.

Source: prompt lookup decoding (Saxena, 2023). Longer n-grams are tried first, and the most recent
occurrence is used (the FLy authors' code uses the earliest). Without a match the draft is empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from flybench.core.declare import drafter, parameter
from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Decision
from flybench.draft.base import DraftSetup
from flybench.engine.base import upload


class NgramIndex:
    """An index of the n-grams of a text, which can grow and shrink in O(1) per token."""

    def __init__(self, longest: int, shortest: int) -> None:
        self._lengths = range(longest, shortest - 1, -1)
        self._ids: list[int] = []
        self._ends: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self._ids)

    def extend(self, ids: Iterable[int]) -> None:
        """Append ids. An n-gram is indexed once it has a successor, so no suffix matches itself."""
        for token in ids:
            for ngram in self._ngrams(len(self._ids)):
                self._ends[ngram].append(len(self._ids))
            self._ids.append(token)

    def truncate(self, length: int) -> None:
        """Remove everything after the first `length` ids."""
        for end in range(len(self._ids) - 1, length - 1, -1):
            for ngram in self._ngrams(end):
                self._ends[ngram].pop()
        del self._ids[length:]

    def follow(self, count: int) -> list[int]:
        """Return up to `count` ids after the last occurrence of the longest matching suffix."""
        for ngram in self._ngrams(len(self._ids)):
            if ends := self._ends.get(ngram):
                return self._ids[ends[-1] : ends[-1] + count]
        return []

    def _ngrams(self, end: int) -> Iterable[tuple[int, ...]]:
        return (tuple(self._ids[end - n : end]) for n in self._lengths if n <= end)


@drafter("lookup")
class LookupDrafter:
    """Proposes tokens from the prompt and the answer so far, deterministically."""

    setup: DraftSetup
    ngram_max: int = parameter(
        default=4, low=1, high=64, unit="tokens", help="longest n-gram looked up"
    )
    ngram_min: int = parameter(
        default=1, low=1, high="ngram_max", unit="tokens", help="shortest n-gram looked up"
    )

    def start(
        self, prompt_ids: Sequence[int], taps: Tensor | None, generator: torch.Generator | None
    ) -> None:
        self._index = NgramIndex(self.ngram_max, self.ngram_min)

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        self._index.extend(context[len(self._index) :])
        return Draft.chain(upload(self._index.follow(limit), self.setup.device))

    def observe(self, draft: Draft, view: TargetView, decision: Decision) -> None:
        pass
