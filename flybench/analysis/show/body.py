"""The text of an answer, each token painted by its fate as far as the record tells."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from flybench.analysis.show.outcomes import KINDS, PLAIN, Kind, codes, kinds
from flybench.analysis.show.paint import painted, safe
from flybench.core.outcomes import Outcome
from flybench.core.samples import Generation

LOOSE = KINDS[Outcome.LOOSE.code]
PARTS = "▶"
PART = Kind(PARTS, "", "1;36", "here the two answers part")
WIDTH = 78


def whole(answer: Generation, pieces: list[str], place: int | None, colour: bool) -> str:
    """Every token painted; `place` is the character before which the parting is marked."""
    shown, at = [], 0
    for piece, kind in zip(pieces, kinds(answer), strict=True):
        if place is not None and at == place:
            shown.append(painted("", PART, colour))
            place = None
        shown.append(painted(piece, kind, colour))
        at += len(piece)
    return "".join(shown)


def loose_alone(answer: Generation, place: int | None, colour: bool) -> str:
    """The text with the loose tokens painted, which the record places by character itself."""
    marks = sorted(_marks(answer, place))
    shown, at = [], 0
    for start, text, kind in marks:
        shown += [safe(answer.text[at:start]), painted(text, kind, colour)]
        at = start + len(text)
    return "".join([*shown, safe(answer.text[at:])])


def from_parting(answer: Generation, place: int, colour: bool) -> str:
    """AR's text from the line in which the two part."""
    begin = answer.text.rfind("\n", 0, place) + 1
    before, after = answer.text[begin:place], answer.text[place:]
    return safe(before) + painted("", PART, colour) + safe(after)


def rounds(answer: Generation) -> str:
    """Rounds in letters, for an answer of which no text can be given token by token."""
    return "\n".join(wrap(" ".join(map(codes, answer.rounds)), WIDTH))


def found_kinds(answer: Generation, pieces: list[str] | None) -> list[Kind]:
    """The kinds that the body shows."""
    if pieces is None:
        return [LOOSE] * bool(answer.loose_tokens)
    return [kind for kind in kinds(answer) if kind is not PLAIN]


def _marks(answer: Generation, place: int | None) -> Iterator[tuple[int, str, Kind]]:
    for token in answer.loose_tokens:
        start = token.start
        # Older records do not say where, and special tokens are no part of the text.
        if start is not None and token.text and answer.text.startswith(token.text, start):
            yield start, token.text, LOOSE
    if place is not None:
        yield place, "", PART
