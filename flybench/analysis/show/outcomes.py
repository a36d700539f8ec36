"""Marks and colours of tokens by outcome, for a terminal.

Text is escaped first, then marked, then coloured where colours are enabled.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TextIO

from flybench.core.outcomes import Outcome
from flybench.core.samples import Generation, Round
from flybench.records import token_texts as tokens
from flybench.records.token_texts import round_outcomes, token_outcomes
from flybench.text import visible


class Kind(NamedTuple):
    """A kind of token: the marks before and after it, its SGR colour code, and its meaning."""

    before: str
    after: str
    colour: str
    meaning: str


EXACT = Kind("", "", "32", "draft token that equals the target's argmax")
PLAIN = Kind("", "", "", "target token without a draft")
BONUS = Kind("ᵇ", "", "36", "target token after a fully accepted draft")
KINDS = {
    Outcome.EXACT.code: EXACT,
    Outcome.LOOSE.code: Kind("⟦", "⟧", "1;35", "draft token accepted only by the loose rule"),
    Outcome.SAMPLED.code: Kind("˜", "", "32", "draft token accepted by rejection sampling"),
    Outcome.GATE.code: Kind("ᵍ", "", "31", "corrected: the target is certain here"),
    Outcome.WINDOW.code: Kind("ʷ", "", "33", "corrected: another mismatch within the window"),
    Outcome.TAIL.code: Kind("ᵗ", "", "34", "corrected: the window extends past the draft"),
    Outcome.REJECTED.code: Kind("ʳ", "", "31", "corrected"),
    tokens.BONUS: BONUS,
    tokens.PLAIN: PLAIN,
}


def kinds(answer: Generation) -> list[Kind]:
    """Return the kind of each token of an answer, in order."""
    return [KINDS[letter] for letter in token_outcomes(answer)]


def codes(round_: Round) -> str:
    """Return a round in letters: one for each accepted token, then the mark of the target token."""
    letters = round_outcomes(round_)
    accepted, own = letters[: round_.accepted], letters[round_.accepted :]
    return accepted + "".join(KINDS[letter].before or "·" for letter in own)


def use_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether to colour: on a capable terminal, unless NO_COLOR is set (no-color.org)."""
    capable = stream.isatty() and environment.get("TERM") != "dumb"
    return capable and not environment.get("NO_COLOR")


def escaped(text: str) -> str:
    """Return text that cannot control the terminal; newlines and tabs are kept."""
    return str(visible(text))


def one_line(text: str) -> str:
    """Return `escaped` text within one line, with signs for newlines and tabs."""
    return escaped(text).replace("\n", "⏎").replace("\t", "⇥")


def marked(text: str, kind: Kind, colour: bool) -> str:
    """Return a token with its marks inside the white space around it.

    The marks of a token of only white space enclose signs for it.
    """
    shown = escaped(text)
    core = shown.strip()
    if not core and (kind.before or kind.after):
        signs = f"{kind.before}{one_line(shown)}{kind.after}"
        return _sgr(signs, kind, colour) + "\n" * shown.count("\n")
    head, _, tail = shown.partition(core) if core else ("", "", shown)
    return head + _sgr(f"{kind.before}{core}{kind.after}", kind, colour) + tail


def legend(found: Iterable[Kind], colour: bool) -> str:
    """Return one line for each kind in `found`, in the order of `KINDS`."""
    used = list(dict.fromkeys(found))
    ordered = [kind for kind in KINDS.values() if kind in used]
    ordered += [kind for kind in used if kind not in ordered]
    return "\n".join(
        f"  {_sgr(f'{kind.before}token{kind.after}', kind, colour)}  {kind.meaning}"
        for kind in ordered
    )


def _sgr(text: str, kind: Kind, colour: bool) -> str:
    return f"\x1b[{kind.colour}m{text}\x1b[0m" if colour and kind.colour and text else text
