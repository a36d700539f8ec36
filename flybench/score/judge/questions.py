"""What a run needs to ask a judge: a grade for every turn, and each method against AR twice.

The grade of a later turn is asked with all turns before it. A comparison is of whole conversations,
in both orders, since judges favour a place; two conversations that are the same need none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flybench.config import BASELINE
from flybench.core.judgements import JudgementKind, Order
from flybench.core.samples import Prompt, Record
from flybench.records.folder import Key
from flybench.score.judge.base import Messages, key_of
from flybench.score.judge.prompts import Exchange, grade_prompt, pair_prompt

ORDERS: tuple[Order, ...] = ("ar first", "method first")


@dataclass(frozen=True)
class Question:
    """One question, and what it is about; the fields are those of `Judgement`."""

    key: str
    sample_id: str
    method: str
    kind: JudgementKind
    messages: Messages
    turn: int | None = None
    order: Order | None = None


def questions(
    records: Mapping[Key, Record], prompts: Mapping[str, Prompt], identity: Mapping[str, Any]
) -> Iterator[Question]:
    """Every question about finished records of `prompts`, which are by sample."""
    for (sample_id, method), record in records.items():
        if record.error or sample_id not in prompts:
            continue
        own = exchanges(prompts[sample_id], record)
        for turn in range(1, len(own) + 1):
            messages = grade_prompt(own[:turn])
            key = key_of(identity, messages)
            yield Question(key, sample_id, method, "single", messages, turn=turn)
        baseline = records.get((sample_id, BASELINE))
        if method == BASELINE or baseline is None or baseline.error or alike(baseline, record):
            continue
        plain = exchanges(prompts[sample_id], baseline)
        for order in ORDERS:
            sides = (plain, own) if order == "ar first" else (own, plain)
            messages = pair_prompt(*sides)
            key = key_of(identity, messages)
            yield Question(key, sample_id, method, "pair", messages, order=order)


def exchanges(prompt: Prompt, record: Record) -> list[Exchange]:
    """The turns of a record with their questions and references."""
    first = "\n\n".join(message["content"] for message in prompt.messages)
    asked = [first, *prompt.followups]
    known = [*prompt.references, *[""] * len(asked)]
    return [
        Exchange(question, reference, turn.text)
        for question, reference, turn in zip(asked, known, record.turns, strict=False)
    ]


def alike(first: Record, second: Record) -> bool:
    """Whether two records say the same, so that neither can be better."""
    return [turn.text for turn in first.turns] == [turn.text for turn in second.turns]
