"""Draft vocabulary: the most frequent ids, and the share of the text that they cover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class DraftVocabulary:
    """Draft vocabulary: `by_frequency` [V_d] int64 are ids of the target; `coverage` is their share
    of all tokens."""

    by_frequency: Tensor
    coverage: float

    @property
    def ids(self) -> Tensor:
        """Ids in ascending order [V_d]."""
        return self.by_frequency.sort().values

    @property
    def d2t(self) -> Tensor:
        """Offset of the target's id from each draft id: [V_d]."""
        return self.ids - torch.arange(len(self.by_frequency))


def frequent(texts: Iterable[Sequence[int]], size: int, vocab_size: int) -> DraftVocabulary:
    """Return the `size` most frequent ids of `texts`; ties and unseen ids are ordered by number."""
    counts = Counter(token for text in texts for token in text)
    order = sorted(range(vocab_size), key=lambda token: (-counts[token], token))[:size]
    covered = sum(counts[token] for token in order)
    return DraftVocabulary(torch.tensor(order), covered / max(counts.total(), 1))


def coverage(ids: Tensor, texts: Iterable[Sequence[int]]) -> float:
    """Return the share of tokens of other texts that are among `ids`."""
    known = set(ids.tolist())
    inside = [token in known for text in texts for token in text]
    return sum(inside) / max(len(inside), 1)
