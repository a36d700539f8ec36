"""What a judging model says of an answer."""

from __future__ import annotations

from typing import Literal

import msgspec

JudgementKind = Literal["single", "pair"]
Order = Literal["ar first", "method first"]
LOWEST, HIGHEST = 1.0, 10.0
"""The grades that a judge can give."""
AGREEMENT = "orders agree"
"""A metric of scores: whether both orders of a comparison gave the same verdict."""


class Judgement(msgspec.Struct, frozen=True):
    """One verdict of a judging model, or the lack of one.

    `key` hashes everything that decides it. A `single` verdict is the grade from 1 to 10 of a
    `turn` (from 1); one of a `pair` is A, B or tie, in one of two orders. `verdict` is None where
    the `text` holds none that can be read, or where the call failed with `error`. Token counts are
    None where the endpoint does not tell, and `cost` where the prices are unknown.
    """

    key: str
    judge: str
    sample_id: str
    method: str
    kind: JudgementKind
    turn: int | None = None
    order: Order | None = None
    verdict: float | str | None = None
    text: str = ""
    finish: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    error: str | None = None
