"""flybench's cache folder: `FLYBENCH_CACHE`, by default `~/.cache/flybench`."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from flybench.core.files import write_atomically


def cache_root() -> Path:
    """Return flybench's cache folder."""
    return Path(os.environ.get("FLYBENCH_CACHE", "~/.cache/flybench")).expanduser()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file; cached by path, size and time, because large files are slow to
    read."""
    # The Hugging Face Hub's cache names its large blobs by their SHA-256.
    blob = path.resolve().name
    if len(blob) == 64 and not set(blob) - set("0123456789abcdef"):
        return blob
    stat = path.stat()
    memory = cache_root() / "sha256.json"
    key = f"{path.resolve()}:{stat.st_size}:{stat.st_mtime_ns}"
    known = _read_json(memory)
    if key not in known:
        with path.open("rb") as stream:
            known[key] = hashlib.file_digest(stream, "sha256").hexdigest()
        write_atomically(memory, json.dumps(known))
    return str(known[key])


def _read_json(path: Path) -> dict[str, str]:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError):
        return {}
