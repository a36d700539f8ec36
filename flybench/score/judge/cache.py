"""Replies by the hash of everything that decides them, shared by all runs of a user.

AR's answers are the same in every run of a sweep, and nobody should pay for their grades twice.
A reply is one file in flybench's cache folder; remove the folder `judgements` there to forget all.
"""

from __future__ import annotations

import json
from pathlib import Path

from flybench.engine.loading.cache import cache_root, write_atomically
from flybench.score.judge.base import Reply, checked


def remembered(key: str) -> Reply | None:
    """The reply to a question that was asked before; None if there is none that can be read."""
    try:
        return checked(Reply(**json.loads(_file(key).read_text(encoding="utf-8"))))
    except (OSError, ValueError, TypeError):
        return None


def remember(key: str, reply: Reply) -> None:
    """Keep a reply for every later run."""
    write_atomically(_file(key), json.dumps(reply._asdict()))


def _file(key: str) -> Path:
    return cache_root() / "judgements" / key[:2] / f"{key}.json"
