"""Reading a judge's verdict: its last line, of the form that was asked for, or nothing.

What was cut off at its cap holds no verdict, because the verdict comes last. Nothing is guessed.
"""

from __future__ import annotations

import re

from flybench.core.judgements import HIGHEST, LOWEST, JudgementKind
from flybench.score.judge.base import Reply

# Emphasis, headings and brackets that chat models put around a line.
MARK = r"[\s*_`#\[\](){}$]*"
GRADE = re.compile(
    rf"{MARK}grade{MARK}:{MARK}([0-9]+(?:\.[0-9]+)?){MARK}(?:/{MARK}10{MARK})?\.?{MARK}", re.I
)
PAIR = re.compile(rf"{MARK}verdict{MARK}:{MARK}(A|B|tie){MARK}\.?{MARK}", re.I)
# What reasoning models think aloud is no answer.
THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)


def read_verdict(kind: JudgementKind, reply: Reply) -> float | str | None:
    """The grade, or A, B or tie; None if the reply does not end in one."""
    if reply.finish == "length":
        return None
    line = last_line(reply.text)
    if kind == "pair":
        named = PAIR.fullmatch(line)
        return {"a": "A", "b": "B", "tie": "tie"}[named[1].lower()] if named else None
    found = GRADE.fullmatch(line)
    grade = float(found[1]) if found else 0.0
    return grade if LOWEST <= grade <= HIGHEST else None


def last_line(text: str) -> str:
    """The last line that is not blank, thoughts aside; empty while a thought goes on."""
    said = THOUGHT.sub("", text)
    if "<think>" in said:
        return ""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else ""
