"""The text and the outcome of each token of an answer.

`pieces.json` in a run's folder has the text of every token id in its answers. It is written at the
end of a run and needs only the tokenizer. Rerunning `flybench run` adds it to an older run.
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
# Letters of the target's own tokens, in addition to those of outcomes: after a draft that was
# accepted whole, and without a draft. After a rejection, the letter is that of the rejected token.
BONUS, PLAIN = "b", "p"
ACCEPTED = "".join(outcome.code for outcome in ACCEPTED_OUTCOMES)
INCOMPLETE = "\ufffd"  # the text of a part of a character

Vocabulary = dict[int, str]
Detokenize = Callable[[Sequence[int]], str]


def token_outcomes(turn: Generation) -> str:
    """Return one letter for each token of the answer: an outcome's code, `BONUS` or `PLAIN`."""
    return "".join(map(round_outcomes, turn.rounds))


def round_outcomes(round_: Round) -> str:
    """Return the letters of the tokens that a round emitted."""
    return _round_outcomes(round_.outcomes, round_.accepted, round_.emitted)


@cache
def _round_outcomes(outcomes: str, accepted: int, emitted: int) -> str:
    """Return the letters; in a tree the last one may be that of a rejected sibling."""
    kept = "".join(letter for letter in outcomes if letter in ACCEPTED)[:accepted]
    if emitted == accepted:
        return kept
    if not outcomes:
        return kept + PLAIN
    rest = outcomes[1 + max(map(outcomes.rfind, ACCEPTED)) :]
    return kept + next((letter for letter in rest if letter in "gwtr"), BONUS)


def write_pieces(folder: RunFolder, detokenize: Detokenize) -> None:
    """Add the text of every id in the folder's answers that is missing in `pieces.json`."""
    known = vocabulary(folder)
    turns = (turn for record in folder.records().values() for turn in record.turns)
    missing = {token for turn in turns for token in turn.ids} - set(known)
    if missing:
        spelled = known | {token: _piece(token, detokenize) for token in missing}
        folder.write(PIECES, json.dumps(dict(sorted(spelled.items()))))


def _piece(token: int, detokenize: Detokenize) -> str:
    """Return a token's text within a longer text, because some tokenizers drop a leading space."""
    return detokenize([token, token])[len(detokenize([token])) :]


def vocabulary(folder: RunFolder) -> Vocabulary:
    """Return the text of each id in the folder's answers; empty without `pieces.json`."""
    return {int(token): piece for token, piece in (folder.read_json(PIECES) or {}).items()}


def pieces_of(turn: Generation, known: Vocabulary) -> list[str] | None:
    """Return the texts of an answer's tokens, which join to the answer's text.

    If several tokens form one character, the first has its text and the others are empty. Return
    None if an id is not known, or the texts do not join to the answer.
    """
    try:
        pieces = [known[token] for token in turn.ids]
    except KeyError:
        return None
    joined = "".join(pieces)
    if INCOMPLETE not in joined and joined.startswith(turn.text):
        return pieces
    return _aligned(pieces, turn.text)


def _aligned(pieces: list[str], text: str) -> list[str] | None:
    """Return the pieces as they occur in the text; None if they do not cover it."""
    found: list[str] = []
    position = 0
    while len(found) < len(pieces):
        piece = pieces[len(found)]
        if not found and not text.startswith(piece):
            piece = piece.lstrip(" ")
        if INCOMPLETE in piece and position < len(text):
            parts = list(takewhile(lambda part: INCOMPLETE in part, pieces[len(found) :]))
            after = pieces[len(found) + len(parts) :][:1]
            end = text.find(after[0], position + 1) if after else -1
            end = end if end >= 0 else len(text)
            found += [text[position:end], *[""] * (len(parts) - 1)]
            position = end
        else:
            position += len(piece) if text.startswith(piece, position) else 0
            found.append(piece)
    return found if position >= len(text) else None
