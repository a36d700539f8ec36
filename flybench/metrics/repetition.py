"""How much of an answer goes round in a loop, as models do that cannot end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LONGEST = 64  # tokens of the n-gram that repeats: up to a few sentences
COPIES = 4
SHORTEST = 24  # tokens of a loop


def looped(ids: Sequence[int]) -> int:
    """Tokens of `ids` that lie in loops.

    A loop is a stretch in which one n-gram (n ≤ 64) follows itself back to back, in at least four
    copies and over at least 24 tokens; its last copy may be cut off. Rows of a table, verses or a
    short run of zeros repeat less often, or change a token each time; an answer that is stuck goes
    on to the cap.
    """
    text = np.asarray(ids)
    inside = np.zeros(len(text), dtype=bool)
    for size in range(1, min(LONGEST, len(text) // COPIES) + 1):
        equal, least = text[size:] == text[:-size], max(COPIES * size, SHORTEST)
        if np.count_nonzero(equal) < least - size:
            continue
        same = np.concatenate(([False], equal, [False]))
        edges = np.flatnonzero(same[1:] != same[:-1])
        for start, end in zip(edges[::2], edges[1::2] + size, strict=True):
            if end - start >= least:
                inside[start:end] = True
    return int(inside.sum())
