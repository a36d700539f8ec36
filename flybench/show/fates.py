"""What became of every token of an answer, from the fates that its rounds recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flybench.core import ACCEPTED_FATES, Fate, Generation, Round


class Kind(NamedTuple):
    """A kind of token: its marks before and after it, its colour as an SGR code, its meaning."""

    before: str
    after: str
    colour: str
    meaning: str


EXACT = Kind("", "", "32", "drafted, and the target's own choice")
PLAIN = Kind("", "", "", "the target's own, where nothing was drafted")
BONUS = Kind("ᵇ", "", "36", "the target's own, after a draft that was kept whole")
KINDS = {
    Fate.EXACT.code: EXACT,
    Fate.LOOSE.code: Kind("⟦", "⟧", "1;35", "drafted, and kept by the loose rule alone"),
    Fate.STOCHASTIC.code: Kind("˜", "", "32", "drafted, and kept by rejection sampling"),
    Fate.GATE.code: Kind("ᵍ", "", "31", "corrected: the target is sure here"),
    Fate.WINDOW.code: Kind("ʷ", "", "33", "corrected: it disagrees again within the window"),
    Fate.TAIL.code: Kind("ᵗ", "", "34", "corrected: the window does not fit in the draft"),
    Fate.REJECTED.code: Kind("ʳ", "", "31", "corrected"),
}
ACCEPTED = {fate.code for fate in ACCEPTED_FATES}


def kinds(answer: Generation) -> list[Kind]:
    """The kind of each token of an answer, in order."""
    return [kind for round_ in answer.rounds for kind in _round(round_)]


def codes(round_: Round) -> str:
    """A round in a few letters: one a kept token, and the mark of the target's own."""
    kept = _kept(round_)
    return "".join(kept) + "".join(kind.before or "·" for kind in _own(round_, len(kept)))


def _round(round_: Round) -> Iterator[Kind]:
    kept = _kept(round_)
    yield from (KINDS[code] for code in kept)
    yield from _own(round_, len(kept))


def _kept(round_: Round) -> list[str]:
    """Letters of the drafted tokens that were emitted; a tree's lie among its branches'."""
    return [code for code in round_.fates if code in ACCEPTED][: round_.accepted]


def _own(round_: Round, kept: int) -> Iterator[Kind]:
    """The target's own token at the end of a round, unless the answer ended before it."""
    if round_.emitted <= kept:
        return
    turned_down = [code for code in round_.fates if code in KINDS and code not in ACCEPTED]
    if not round_.drafted:
        yield PLAIN
    else:
        yield KINDS[turned_down[0]] if turned_down else BONUS
