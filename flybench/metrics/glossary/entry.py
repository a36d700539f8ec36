"""Type of a glossary entry."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One metric, printed as `value * scale` with `digits` decimals."""

    label: str
    unit: str
    meaning: str
    scale: float = 1.0
    digits: int = 2
