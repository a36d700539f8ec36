"""What differs between two runs that may be compared: settings, models, versions, commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flybench.analysis.compare.sides import Side
from flybench.core.files import flattened

ABSENT = "–"
# Where a run's own words are, not its settings.
WORDS = ("description", "name")


def changes(a: Side, b: Side) -> list[tuple[str, str, str]]:
    """Setting, A's value and B's value, of every setting that differs."""
    ours, theirs = (dict(_settings(side)) for side in (a, b))
    names = dict.fromkeys([*ours, *theirs])
    told = ((name, ours.get(name, ABSENT), theirs.get(name, ABSENT)) for name in names)
    return [row for row in told if row[1] != row[2]]


def _settings(side: Side) -> Iterator[tuple[str, str]]:
    known = side.provenance
    yield "method", side.method
    yield from _flat("method", known.get("method_config") or {})
    for role in ("target", "draft", "head"):
        yield from _model(role, (known.get("models") or {}).get(role))
    yield from _flat("engine", side.config.get("engine") or {})
    yield "seed", str(known.get("seed", ABSENT))
    yield "device", str(known["device"])
    yield "engine", str(known["engine"])
    last = (known.get("invocations") or [{}])[-1]
    git = last.get("git") or {}
    yield "flybench", str(git.get("commit", ABSENT))[:10] + " with changes" * bool(git.get("dirty"))
    environment = last.get("environment") or {}
    for name in ("cpu", "cores", "threads", "python"):
        yield name, str(environment.get(name, ABSENT))
    yield from _flat("", environment.get("packages") or {})


def _model(role: str, known: dict[str, Any] | None) -> Iterator[tuple[str, str]]:
    if known is None:
        return
    for name in ("path", "dtype", "quantize", "skip_layers", "vocab_trim"):
        if name in known:
            yield f"{role}.{name}", str(known[name])
    yield f"{role}.weights", " ".join(value[:8] for value in (known.get("files") or {}).values())


def _flat(prefix: str, tree: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for path, value in flattened(tree, prefix):
        if path.rpartition(".")[2] not in WORDS:
            yield path, str(value)
