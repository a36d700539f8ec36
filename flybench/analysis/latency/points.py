"""What is varied: one axis at a time, from one base point."""

from __future__ import annotations

from dataclasses import dataclass

CONTEXT = 256
WIDTHS = (2, 4, 8, 16, 32, 64)
# The last one leaves room for the token that is read, so that a model of 8192 tokens holds it.
CONTEXTS = (1024, 4096, 8191)
BATCHES = (4, 16, 32)


@dataclass(frozen=True)
class Point:
    """A pass over `width` tokens in each of `batch` texts of `context` tokens."""

    varied: str
    width: int = 1
    context: int = CONTEXT
    batch: int = 1


BASE = Point("base")


def points(k: int) -> list[Point]:
    """The base point, then every axis; widths include that of a draft of `k` tokens."""
    widths = sorted({*WIDTHS, k + 1} - {1})
    return [
        BASE,
        *(Point("width", width=width) for width in widths),
        *(Point("context", context=context) for context in CONTEXTS),
        *(Point("batch", batch=batch) for batch in BATCHES),
    ]
