"""An answer token by token: the text of each, and how it came to stay.

`pieces.json` in a run's folder spells every id that its answers use. It is written when a run
ends, from the tokenizer alone, so that the same `flybench run` adds it to a run made before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from itertools import takewhile

from flybench.core.outcomes import ACCEPTED_OUTCOMES
from flybench.core.samples import Generation, Round
from flybench.records.folder import RunFolder

PIECES = "pieces.json"
# Letters of the target's own tokens, beside those of fates: after a draft that was kept whole, and
# where nothing was drafted. After a rejection the token bears the letter of the rejected one.
BONUS, PLAIN = "b", "p"
ACCEPTED = "".join(outcome.code for outcome in ACCEPTED_OUTCOMES)
UNWHOLE = "\ufffd"  # stands for a part of a character

Vocabulary = dict[int, str]
Spell = Callable[[Sequence[int]], str]


def token_outcomes(turn: Generation) -> str:
    """One letter a token of the answer: a fate's code, `BONUS` or `PLAIN`."""
    return "".join(map(round_outcomes, turn.rounds))


def round_outcomes(round_: Round) -> str:
    """The letters of the tokens that a round emitted."""
    return _round_outcomes(round_.outcomes, round_.accepted, round_.emitted)


@cache
def _round_outcomes(outcomes: str, accepted: int, emitted: int) -> str:
    """Of a tree, the last letter may be that of a rejected sibling."""
    kept = "".join(letter for letter in outcomes if letter in ACCEPTED)[:accepted]
    if emitted == accepted:
        return kept
    if not outcomes:
        return kept + PLAIN
    rest = outcomes[1 + max(map(outcomes.rfind, ACCEPTED)) :]
    return kept + next((letter for letter in rest if letter in "gwtr"), BONUS)


def write_pieces(folder: RunFolder, spell: Spell) -> None:
    """Spell every id of the folder's answers that is not spelled yet."""
    known = vocabulary(folder)
    turns = (turn for record in folder.records().values() for turn in record.turns)
    missing = {token for turn in turns for token in turn.ids} - set(known)
    if missing:
        spelled = known | {token: _piece(token, spell) for token in missing}
        folder.write(PIECES, json.dumps(dict(sorted(spelled.items()))))


def _piece(token: int, spell: Spell) -> str:
    """A token's text amid others: at the start of a text some tokenizers drop a blank."""
    return spell([token, token])[len(spell([token])) :]


def vocabulary(folder: RunFolder) -> Vocabulary:
    """The text of each id of the folder's answers; empty for a run without `pieces.json`."""
    return {int(token): piece for token, piece in (folder.read_json(PIECES) or {}).items()}


def pieces_of(turn: Generation, known: Vocabulary) -> list[str] | None:
    """The text of every token of an answer, so that what is not special joins to the answer's text.

    Of a character that several tokens make up, the first has it and the others are empty. None
    where an id is not known, or the pieces do not make up the text.
    """
    try:
        pieces = [known[token] for token in turn.ids]
    except KeyError:
        return None
    joined = "".join(pieces)
    if UNWHOLE not in joined and joined.startswith(turn.text):
        return pieces
    return _aligned(pieces, turn.text)


def _aligned(pieces: list[str], text: str) -> list[str] | None:
    """The pieces as they stand in the text; None if they leave some of it out."""
    found: list[str] = []
    place = 0
    while len(found) < len(pieces):
        piece = pieces[len(found)]
        if not found and not text.startswith(piece):
            piece = piece.lstrip(" ")
        if UNWHOLE in piece and place < len(text):
            parts = list(takewhile(lambda part: UNWHOLE in part, pieces[len(found) :]))
            after = pieces[len(found) + len(parts) :][:1]
            end = text.find(after[0], place + 1) if after else -1
            end = end if end >= 0 else len(text)
            found += [text[place:end], *[""] * (len(parts) - 1)]
            place = end
        else:
            place += len(piece) if text.startswith(piece, place) else 0
            found.append(piece)
    return found if place >= len(text) else None
