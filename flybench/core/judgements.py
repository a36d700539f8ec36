"""Verdicts of a judge model on answers."""

from __future__ import annotations

from typing import Literal

import msgspec

JudgementKind = Literal["single", "pair"]
Order = Literal["ar first", "method first"]
LOWEST, HIGHEST = 1.0, 10.0
"""The range of a judge's grades."""
AGREEMENT = "orders agree"
"""The metric of a score that is 1 if both orders of a comparison have the same verdict."""


class Judgement(msgspec.Struct, frozen=True):
    """One call to a judge model, and its verdict.

    `key` is a hash of everything that the verdict depends on. The verdict of kind `single` is the
    grade, 1 to 10, of a `turn` (1-based); of kind `pair` it is A, B or tie, in one of two orders.
    `verdict` is None if it cannot be parsed from `text`, or if the call failed with `error`. Token
    counts are None if the endpoint does not report them, and `cost` is None without prices.
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
