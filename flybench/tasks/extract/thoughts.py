"""The answer of a reasoning model, without the thought before it."""

from __future__ import annotations

import re

from flybench.core.samples import Record

NAMES = "think|thinking|thought|reasoning"
OPENING = re.compile(rf"<({NAMES})>", re.IGNORECASE)
CLOSING = re.compile(rf"</({NAMES})>", re.IGNORECASE)


def without_thought(text: str, prefix: str = "") -> str:
    """Return what follows the last thought; what precedes it if the thought was truncated.

    `prefix` is the beginning of the answer that the prompt gives, which may open the thought.
    Some templates open it without a trace, so that a closing tag alone ends a thought, too.
    """
    closings = list(CLOSING.finditer(text))
    after = text[closings[-1].end() :] if closings else text
    if opening := OPENING.search(after):
        return after[: opening.start()]
    return "" if not closings and OPENING.search(prefix) and not CLOSING.search(prefix) else after


def answer_text(record: Record) -> str:
    """Return the text of the last turn that scorers read."""
    turn = record.turns[-1]
    return without_thought(turn.text, turn.assistant_prefix)
