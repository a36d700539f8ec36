"""Outcomes of draft tokens: accepted or rejected, each with a reason, or not reached."""

from __future__ import annotations

from enum import IntEnum

OUTCOME_CODES = ".elsgwtr"


class Outcome(IntEnum):
    """The outcome of one draft token."""

    NOT_REACHED = 0  # after the first rejection, or on another branch
    EXACT = 1  # accepted: equals the target's top-1
    LOOSE = 2  # accepted by a loose rule: a mismatch
    SAMPLED = 3  # accepted by rejection sampling
    GATE = 4  # rejected: the target's entropy is below the gate
    WINDOW = 5  # rejected: another mismatch within the window
    TAIL = 6  # rejected: the window does not fit in the draft
    REJECTED = 7  # rejected by a rule without reasons

    @property
    def code(self) -> str:
        """The letter that records store."""
        return OUTCOME_CODES[self]


ACCEPTED_OUTCOMES = (Outcome.EXACT, Outcome.LOOSE, Outcome.SAMPLED)
