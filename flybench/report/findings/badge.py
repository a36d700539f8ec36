"""Verdict badges: a short coloured label and the full sentence behind it."""

from __future__ import annotations

from typing import NamedTuple

from flybench.metrics.paired import NOT_RESOLVED
from flybench.metrics.suppression import MIN_VERDICT_SAMPLES

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
    """A verdict as a short label (`badge`, coloured by `kind`: good, bad or open) and in full."""

    kind: str
    badge: str
    text: str

    @classmethod
    def of(cls, badge: str, text: str, n: int) -> VerdictBadge:
        """Build a badge; it is open if `n` is below `MIN_VERDICT_SAMPLES`."""
        if n < MIN_VERDICT_SAMPLES:
            return cls("open", f"{badge}, n too small", text)
        return cls(KIND.get(badge, "open"), badge, text)


def count(n: int, noun: str) -> str:
    """Format a count with its noun, as ``1 sample`` or ``2 samples``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
