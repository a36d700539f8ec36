"""Drafts from every position of the recorded text, of any length.

Some rows of these drafts are recorded, others are imputed:

- A deterministic draft depends only on the text before it. The draft from a position is therefore
  the remainder of the round that covers the position. It is recorded in full, including the tokens
  after a rejected one, because the target has scored them.
- A fully accepted draft is followed by the target's own token. The target's entropy is
  recorded there, the drafter's token is not. Its match is imputed from a row of similar entropy
  whose draft had matched so far. If it matches, the draft continues with the next round.
- After the end of a draft that had diverged from the text, nothing is recorded. The match and the
  continuation are imputed from a row of similar entropy with as many matches since its last
  mismatch.

A recording with a large K therefore covers every smaller K, and a replay of its own setting
imputes no tokens. A draft that ended early, as lookup drafts do, ends there in the replay too.
The rest of a round is only an approximation for EAGLE-3, whose later tokens depend on predicted
features, and for lookup, which finds more matches in a longer text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from flybench.analysis.replay.traced_rows import NOT_EMITTED, Bools, Floats32, Ints, Rows

SEED = 20251122
NEARBY = 10  # largest distance, in ranks of entropy, between a row and its source row
MAX_MATCHES = 8  # upper limit on the number of matches since the last mismatch


@dataclass(frozen=True)
class Drafts:
    """Drafts of at most `size` tokens from every position of the text [P].

    `rows` [P, size + 1] are the rows of their tokens, and the row after the last token. `length`
    [P] is the number of tokens. `imputed` [P, size] marks tokens that are not in the traces.
    `match`, `entropy` and `top3_entropy` [P, size] are the inputs of a rule.
    """

    rows: Ints
    length: Ints
    imputed: Bools
    match: Tensor
    entropy: Tensor
    top3_entropy: Tensor


class ImputedRows:
    """Recorded rows, with imputed continuations of every draft.

    `match` [R] is recorded or imputed. `next_row` [R] is the next row of the draft. `source_row`
    [R] is the row that holds the draft token: the row itself, or the one it is imputed from.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        count = len(rows.match)
        last = ~rows.drafted
        size = rows.position[last][rows.round]
        # A draft shorter than K had ended by itself.
        self._ends = last & (size < rows.k)
        self._imputed = last & ~self._ends
        self.match = rows.match.copy()
        self.next_row = np.arange(count) + 1
        self.next_row[last] = np.flatnonzero(last)
        self.source_row = np.arange(count)
        self._jumps = np.zeros(count, dtype=bool)
        self._impute(size)

    def _impute(self, size: Ints) -> None:
        rows, since, diverged = self.rows, *self._states()
        rng = np.random.default_rng(SEED)
        state = np.where(diverged, since, -1)
        for kind in np.unique(state[self._imputed]):
            missing = np.flatnonzero(self._imputed & (state == kind))
            known = np.flatnonzero(rows.drafted & (state == kind))
            if not len(known):
                known = np.flatnonzero(rows.drafted)
            sources = _similar(rows.entropy, missing, known, rng)
            self.match[missing], self.source_row[missing] = rows.match[sources], sources
            continues = self.match[missing] & (rows.text[missing] != NOT_EMITTED)
            # The next round is on the text, unless the answer ends here.
            continues &= ~np.isin(rows.text[missing] + 1, rows.answers["end"])
            after = np.minimum(missing + 1, len(rows.text) - 1)
            self.next_row[missing] = np.where(continues, after, self.next_row[sources])
            self._jumps[missing] = ~continues

    def _states(self) -> tuple[Ints, Bools]:
        """Return the state of the draft before every row of its round: (matches, diverged).

        The matches are those since the last mismatch, at most `MAX_MATCHES`.
        """
        rows = self.rows
        index = np.arange(len(rows.match))
        begin = index - rows.position
        latest = np.maximum.accumulate(np.where(rows.match | ~rows.drafted, -1, index))
        latest = np.concatenate([[-1], latest[:-1]])
        diverged = latest >= begin
        since = index - np.where(diverged, latest + 1, begin)
        return np.minimum(since, MAX_MATCHES), diverged

    @cached_property
    def starts(self) -> Ints:
        """The first row of the draft from each position of the text [P]."""
        on_text = np.flatnonzero(self.rows.text != NOT_EMITTED)
        starts = np.empty(len(on_text), dtype=np.int64)
        starts[self.rows.text[on_text]] = on_text
        return starts

    def drafts(self, size: int) -> Drafts:
        """Return the drafts of at most `size` tokens from every position."""
        count = len(self.starts)
        rows = np.empty((count, size + 1), dtype=np.int64)
        imputed = np.empty((count, size), dtype=bool)
        rows[:, 0] = self.starts
        jumped = np.zeros(count, dtype=bool)
        for step in range(size):
            here = rows[:, step]
            imputed[:, step] = jumped | self._imputed[here]
            jumped |= self._jumps[here]
            rows[:, step + 1] = self.next_row[here]
        ended = self._ends[rows[:, :size]]
        length = np.where(ended.any(1), ended.argmax(1), size)
        parts = (self.match, self.rows.entropy, self.rows.top3_entropy)
        inputs = (torch.from_numpy(part[rows[:, :size]]) for part in parts)
        return Drafts(rows, length, imputed, *inputs)


def _similar(entropy: Floats32, missing: Ints, known: Ints, rng: np.random.Generator) -> Ints:
    """Return for each row of `missing` a row of `known` with a similar entropy."""
    ordered = known[np.argsort(entropy[known], kind="stable")]
    rank = np.searchsorted(entropy[ordered], entropy[missing])
    rank = rank + rng.integers(-NEARBY, NEARBY + 1, len(missing))
    return ordered[rank.clip(0, len(ordered) - 1)]
