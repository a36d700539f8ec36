"""Which lane a case of a table runs in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest


def fast_only(table: Mapping[str, Any], *names: str) -> list[Any]:
    """The table's values as parameters, by name; all but `names` are left to the slow lane."""
    assert set(names) <= set(table)
    return [
        pytest.param(value, id=name, marks=[] if name in names else pytest.mark.slow)
        for name, value in table.items()
    ]
