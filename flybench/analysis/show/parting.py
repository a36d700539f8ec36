"""Where an answer and AR's first part, in characters of both texts."""

from __future__ import annotations

import os
from typing import NamedTuple

from flybench.core.samples import Generation
from flybench.metrics.divergence import TIE_MARGIN, first_divergence


class Parting(NamedTuple):
    """`place` is the first character that differs, in both texts alike; `text` says it in words."""

    place: int
    text: str


def parting(
    answer: Generation,
    plain: Generation,
    own: list[str] | None,
    theirs: list[str] | None,
) -> Parting | None:
    """The parting of an answer from AR's, given the pieces of both; None for equal ids.

    Without pieces its character is that of the texts, which the ids may precede by a few.
    """
    token = first_divergence(answer.ids, plain.ids)
    if token is None:
        return None
    if token < len(plain.margins):
        gap = plain.margins[token]
        loose = any(kept.index == token for kept in answer.loose_tokens)
        near = "a near tie, but a loose rule kept the other" if loose else "a near tie"
        kind = near if gap < TIE_MARGIN else "no tie"
        why = f"AR's two best tokens were {gap:.3g} apart there: {kind}"
    else:
        why = "AR's answer had ended"
    if own is not None and theirs is not None:
        place = sum(map(len, own[:token]))
    else:
        place = len(os.path.commonprefix([answer.text, plain.text]))
    return Parting(place, f"parts from AR's at token {token} ({why})")
