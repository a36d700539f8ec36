"""The answer of a reasoning model, without the thought before it."""

from __future__ import annotations

import re

from flybench.core.samples import Record

NAMES = "think|thinking|thought|reasoning"
OPENING = re.compile(rf"<(?:{NAMES})>", re.IGNORECASE)
CLOSING = re.compile(rf"</(?:{NAMES})>", re.IGNORECASE)


def without_thought(text: str, prefix: str = "") -> str:
    """Return what follows the last thought; empty if the text ends within a thought.

    `prefix` is the beginning of the answer that the prompt gives, which may open the thought.
    Some templates open it without a trace, so that a closing tag alone also ends a thought.
    """
    *_, after = CLOSING.split(prefix + text)
    if OPENING.search(after):
        return ""
    return text if len(after) > len(text) else after  # never a part of the prefix


def answer_text(record: Record) -> str:
    """Return the text of the last turn that scorers read."""
    turn = record.turns[-1]
    return without_thought(turn.text, turn.assistant_prefix)
