"""The draft that would have begun at each place of the recorded text, of any length.

What a run's traces say of it, and what has to be guessed:

- A deterministic draft is a function of the text before it, so that the draft from any place of the
  text is the rest of the round that covers the place. All of that rest is known, what follows a
  refused token too: it was drafted after that token and judged there, as the window needs it.
- The token after a whole draft that was kept is the target's own. The target's law is known there,
  the drafter's token is not: whether it matches is taken from a row of like entropy whose draft had
  been right so far. If it matches, the draft goes on with the next round.
- Behind the end of a draft that had gone off the text nothing is known: a row with as many matches
  since its last mismatch, and of like entropy, lends its match and its own continuation.

A run with a long K therefore serves every shorter one, and replaying its own setting guesses
nothing. A draft that ended early by itself, as lookup's do, ends there again. For EAGLE-3, whose
later tokens rest on guessed features, and for lookup, which finds more in a longer text, the rest
of a round is an approximation of the draft from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from flybench.analysis.replay.rows import NOWHERE, Bools, Floats32, Ints, Rows

SEED = 20251122
NEARBY = 10  # a guess is one of the rows of like entropy up to so many ranks away
MOST_MATCHES = 8  # since the last mismatch; more are counted as so many


@dataclass(frozen=True)
class Drafts:
    """Drafts of `size` tokens at most from every place of the text [P].

    `rows` [P, size + 1] are the rows that judge them, the one behind the last token included;
    `length` [P] counts their tokens; `guessed` [P, size] marks tokens that no trace holds. `match`,
    `entropy` and `top3_entropy` [P, size] are what rules ask of the tokens.
    """

    rows: Ints
    length: Ints
    guessed: Bools
    match: Tensor
    entropy: Tensor
    top3_entropy: Tensor


class Continued:
    """Recorded rows with a guess for whatever a draft could go on with.

    `match` [R] is the recorded one or a guess, `following` [R] the row after each in a draft, and
    `told` [R] the row whose drafted token stands for each one's: its own, or the one it guesses by.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        count = len(rows.match)
        last = ~rows.drafted
        size = rows.position[last][rows.round]
        # A draft shorter than what was asked for had no more to say.
        self._ends = last & (size < rows.k)
        self._lent = last & ~self._ends
        self.match = rows.match.copy()
        self.following = np.arange(count) + 1
        self.following[last] = np.flatnonzero(last)
        self.told = np.arange(count)
        self._jumps = np.zeros(count, dtype=bool)
        self._guess(size)

    def _guess(self, size: Ints) -> None:
        rows, since, strayed = self.rows, *self._states()
        rng = np.random.default_rng(SEED)
        state = np.where(strayed, since, -1)
        for kind in np.unique(state[self._lent]):
            lacking = np.flatnonzero(self._lent & (state == kind))
            known = np.flatnonzero(rows.drafted & (state == kind))
            if not len(known):
                known = np.flatnonzero(rows.drafted)
            lenders = _alike(rows.entropy, lacking, known, rng)
            self.match[lacking], self.told[lacking] = rows.match[lenders], lenders
            goes_on = self.match[lacking] & (rows.text[lacking] != NOWHERE)
            # The next round is on the text, unless the answer ends here.
            goes_on &= ~np.isin(rows.text[lacking] + 1, rows.answers["end"])
            after = np.minimum(lacking + 1, len(rows.text) - 1)
            self.following[lacking] = np.where(goes_on, after, self.following[lenders])
            self._jumps[lacking] = ~goes_on

    def _states(self) -> tuple[Ints, Bools]:
        """Of every row: matches of its round since the last mismatch before it, at most
        `MOST_MATCHES`, and whether there was any mismatch."""
        rows = self.rows
        places = np.arange(len(rows.match))
        begin = places - rows.position
        latest = np.maximum.accumulate(np.where(rows.match | ~rows.drafted, -1, places))
        latest = np.concatenate([[-1], latest[:-1]])
        strayed = latest >= begin
        since = places - np.where(strayed, latest + 1, begin)
        return np.minimum(since, MOST_MATCHES), strayed

    @cached_property
    def starts(self) -> Ints:
        """The row that the draft from each place of the text begins with [P]."""
        on_text = np.flatnonzero(self.rows.text != NOWHERE)
        starts = np.empty(len(on_text), dtype=np.int64)
        starts[self.rows.text[on_text]] = on_text
        return starts

    def drafts(self, size: int) -> Drafts:
        """The drafts of at most `size` tokens from everywhere."""
        places = len(self.starts)
        rows = np.empty((places, size + 1), dtype=np.int64)
        guessed = np.empty((places, size), dtype=bool)
        rows[:, 0] = self.starts
        jumped = np.zeros(places, dtype=bool)
        for step in range(size):
            here = rows[:, step]
            guessed[:, step] = jumped | self._lent[here]
            jumped |= self._jumps[here]
            rows[:, step + 1] = self.following[here]
        ended = self._ends[rows[:, :size]]
        length = np.where(ended.any(1), ended.argmax(1), size)
        asked = (self.match, self.rows.entropy, self.rows.top3_entropy)
        facts = (torch.from_numpy(part[rows[:, :size]]) for part in asked)
        return Drafts(rows, length, guessed, *facts)


def _alike(entropy: Floats32, lacking: Ints, known: Ints, rng: np.random.Generator) -> Ints:
    """For each row of `lacking` one of `known` with about its entropy."""
    ordered = known[np.argsort(entropy[known], kind="stable")]
    place = np.searchsorted(entropy[ordered], entropy[lacking])
    place = place + rng.integers(-NEARBY, NEARBY + 1, len(lacking))
    return ordered[place.clip(0, len(ordered) - 1)]
