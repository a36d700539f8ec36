"""A verdict's badge: a few words with a colour, the whole answer, and modesty on few samples."""

from __future__ import annotations

from typing import NamedTuple

from flybench.metrics.paired import NOT_RESOLVED
from flybench.metrics.suppression import FEWEST_SETTLING

OPEN = NOT_RESOLVED
TO_ANSWER = "slower to answer"
KIND = {
    "faster": "good",
    "accuracy kept": "good",
    "slower": "bad",
    TO_ANSWER: "bad",
    "accuracy lost": "bad",
    "grade kept": "good",
    "grade lost": "bad",
}


class VerdictBadge(NamedTuple):
    """An answer in a few words (`badge`, coloured by `kind`: good, bad or open) and in full."""

    kind: str
    badge: str
    text: str

    @classmethod
    def of(cls, badge: str, text: str, n: int) -> VerdictBadge:
        """A finding over `n` samples; too few of them settle nothing."""
        if n < FEWEST_SETTLING:
            return cls("open", f"{badge}, n too small", text)
        return cls(KIND.get(badge, "open"), badge, text)


def count(n: int, noun: str) -> str:
    """``1 sample``, ``2 samples``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
