"""What became of every token of an answer, from the fates that its rounds recorded."""

from __future__ import annotations

from typing import NamedTuple

from flybench.core.outcomes import Outcome
from flybench.core.samples import Generation, Round
from flybench.records import token_texts as tokens
from flybench.records.token_texts import round_outcomes, token_outcomes


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
    Outcome.EXACT.code: EXACT,
    Outcome.LOOSE.code: Kind("⟦", "⟧", "1;35", "drafted, and kept by the loose rule alone"),
    Outcome.SAMPLED.code: Kind("˜", "", "32", "drafted, and kept by rejection sampling"),
    Outcome.GATE.code: Kind("ᵍ", "", "31", "corrected: the target is sure here"),
    Outcome.WINDOW.code: Kind("ʷ", "", "33", "corrected: it disagrees again within the window"),
    Outcome.TAIL.code: Kind("ᵗ", "", "34", "corrected: the window does not fit in the draft"),
    Outcome.REJECTED.code: Kind("ʳ", "", "31", "corrected"),
    tokens.BONUS: BONUS,
    tokens.PLAIN: PLAIN,
}


def kinds(answer: Generation) -> list[Kind]:
    """The kind of each token of an answer, in order."""
    return [KINDS[letter] for letter in token_outcomes(answer)]


def codes(round_: Round) -> str:
    """A round in a few letters: one a kept token, and the mark of the target's own."""
    letters = round_outcomes(round_)
    kept, own = letters[: round_.accepted], letters[round_.accepted :]
    return kept + "".join(KINDS[letter].before or "·" for letter in own)
