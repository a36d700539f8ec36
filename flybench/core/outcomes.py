"""The outcome of a drafted token: accepted and why, rejected and why, or not reached."""

from __future__ import annotations

from enum import IntEnum

OUTCOME_CODES = ".elsgwtr"


class Outcome(IntEnum):
    """The outcome of one drafted token."""

    NOT_REACHED = 0  # after the first rejection, or on a branch not taken
    EXACT = 1  # accepted: equals the target's own choice
    LOOSE = 2  # accepted: differs, and a loose rule kept it
    SAMPLED = 3  # accepted by rejection sampling
    GATE = 4  # rejected: the target is sure here
    WINDOW = 5  # rejected: the target disagrees again within the window
    TAIL = 6  # rejected: the window does not fit in the draft
    REJECTED = 7  # rejected by a rule that gives no reason

    @property
    def code(self) -> str:
        """One letter, as records store it."""
        return OUTCOME_CODES[self]


ACCEPTED_OUTCOMES = (Outcome.EXACT, Outcome.LOOSE, Outcome.SAMPLED)
