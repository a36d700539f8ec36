"""The text of an answer with its tokens marked, and its first difference from AR's answer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from textwrap import wrap
from typing import NamedTuple

from flybench.analysis.show.outcomes import KINDS, PLAIN, Kind, codes, escaped, kinds, marked
from flybench.core.outcomes import Outcome
from flybench.core.samples import Generation
from flybench.metrics.divergence import TIE_MARGIN, first_divergence

LOOSE = KINDS[Outcome.LOOSE.code]
DIVERGES = "▶"
DIVERGENCE = Kind(DIVERGES, "", "1;36", "here the two answers diverge")
WIDTH = 78


class FirstDifference(NamedTuple):
    """The first difference of two answers: its character `offset` in both, and a sentence."""

    offset: int
    text: str


def first_difference(
    answer: Generation,
    baseline: Generation,
    own_texts: list[str] | None,
    baseline_texts: list[str] | None,
) -> FirstDifference | None:
    """Return the first difference of an answer from AR's; None for equal ids.

    `own_texts` and `baseline_texts` are the texts of their tokens. Without them the offset is that
    of the first differing character, which may come a few tokens after the first differing id.
    """
    index = first_divergence(answer.ids, baseline.ids)
    if index is None:
        return None
    if index < len(baseline.margins):
        gap = baseline.margins[index]
        loose = any(token.index == index for token in answer.loose_tokens)
        near = "a near tie, but a loose rule kept the other" if loose else "a near tie"
        kind = near if gap < TIE_MARGIN else "no tie"
        why = f"AR's two best tokens were {gap:.3g} apart there: {kind}"
    else:
        why = "AR's answer had ended"
    if own_texts is not None and baseline_texts is not None:
        offset = sum(map(len, own_texts[:index]))
    else:
        offset = len(os.path.commonprefix([answer.text, baseline.text]))
    return FirstDifference(offset, f"diverges from AR's at token {index} ({why})")


def marked_tokens(answer: Generation, texts: list[str], offset: int | None, colour: bool) -> str:
    """Return the answer with every token marked, and the divergence before character `offset`."""
    shown, position = [], 0
    for text, kind in zip(texts, kinds(answer), strict=True):
        if offset is not None and position == offset:
            shown.append(marked("", DIVERGENCE, colour))
            offset = None
        shown.append(marked(text, kind, colour))
        position += len(text)
    return "".join(shown)


def marked_loose_tokens(answer: Generation, offset: int | None, colour: bool) -> str:
    """Return the answer with only its loose tokens marked, by their recorded characters."""
    marks = sorted(_marks(answer, offset))
    shown, position = [], 0
    for start, text, kind in marks:
        shown += [escaped(answer.text[position:start]), marked(text, kind, colour)]
        position = start + len(text)
    return "".join([*shown, escaped(answer.text[position:])])


def from_line_of(answer: Generation, offset: int, colour: bool) -> str:
    """Return the answer from the line that holds `offset`, with the divergence marked."""
    begin = answer.text.rfind("\n", 0, offset) + 1
    before, after = answer.text[begin:offset], answer.text[offset:]
    return escaped(before) + marked("", DIVERGENCE, colour) + escaped(after)


def rounds(answer: Generation) -> str:
    """Return the rounds of an answer in letters, wrapped to `WIDTH`."""
    return "\n".join(wrap(" ".join(map(codes, answer.rounds)), WIDTH))


def found_kinds(answer: Generation, texts: list[str] | None) -> list[Kind]:
    """Return the kinds of token that the marked answer shows."""
    if texts is None:
        return [LOOSE] * bool(answer.loose_tokens)
    return [kind for kind in kinds(answer) if kind is not PLAIN]


def _marks(answer: Generation, offset: int | None) -> Iterator[tuple[int, str, Kind]]:
    for token in answer.loose_tokens:
        start = token.start
        # Older records have no `start`, and special tokens are not part of the text.
        if start is not None and token.text and answer.text.startswith(token.text, start):
            yield start, token.text, LOOSE
    if offset is not None:
        yield offset, "", DIVERGENCE
