"""Differences between two comparable runs: settings, models, versions and commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flybench.analysis.compare.sides import ComparedRun
from flybench.core.files import flattened

ABSENT = "–"
# Free text about a run, which is not a setting.
FREE_TEXT = ("description", "name")


def changes(a: ComparedRun, b: ComparedRun) -> list[tuple[str, str, str]]:
    """Return (setting, value in A, value in B) for every setting that differs."""
    ours, theirs = (dict(_settings(side)) for side in (a, b))
    names = dict.fromkeys([*ours, *theirs])
    rows = ((name, ours.get(name, ABSENT), theirs.get(name, ABSENT)) for name in names)
    return [row for row in rows if row[1] != row[2]]


def _settings(side: ComparedRun) -> Iterator[tuple[str, str]]:
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
        if path.rpartition(".")[2] not in FREE_TEXT:
            yield path, str(value)
