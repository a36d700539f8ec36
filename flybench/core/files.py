"""Atomic file writes, and conversion of plain data to JSON types."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Write a file atomically: the block fills a temporary file, which then replaces `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_atomically(path: Path, text: str) -> None:
    """Replace a text file in one step; escape lone surrogates, which UTF-8 cannot encode."""
    with atomic_write(path) as partial:
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")


def json_plain(value: Any) -> Any:
    """Return nested data in JSON's own types: lists for tuples, Python numbers for NumPy's, and
    None for a number that is not finite."""
    if isinstance(value, dict):
        return {key: json_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [json_plain(item) for item in value]
    if hasattr(value, "item"):  # a NumPy scalar, or an array of one
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def flattened(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Return the leaves of nested settings by their dotted paths: ``("draft.kind", "lookup")``."""
    for name, value in tree.items():
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(value, Mapping):
            yield from flattened(value, path)
        else:
            yield path, value
