"""A run's records as lines of JSON, and back."""

from __future__ import annotations

import json
import lzma
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from flybench.core import (
    CardState,
    FlybenchError,
    Generation,
    Loosened,
    Opinion,
    Record,
    Round,
    Score,
    Telemetry,
)
from flybench.core.token_classes import classify

Noun = TypeVar("Noun")
DECIMALS = 6  # of every figure in a record: a microsecond, a millionth of a probability


def record_line(record: Record) -> str:
    """A record as one line without traces, its figures kept to `DECIMALS`."""
    turns = [replace(turn, traces=[]) for turn in record.turns]
    row = _rounded(asdict(replace(record, turns=turns)))
    for turn in row["turns"]:
        del turn["traces"]
        for token in turn["loosened"]:
            del token["kind"]
    return json.dumps(row) + "\n"


def append_line(file: Path, line: str) -> None:
    """Add a line and make sure that it survives a kill."""
    with file.open("a", encoding="utf-8") as stream:
        stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())


Known = dict[bytes, Any]
"""What lines hold that were read before, by their digest."""


def nouns(file: Path, build: Callable[[Any], Noun], known: Known | None = None) -> Iterator[Noun]:
    """What each line of a file holds, that of its packed part first; nothing if there is no file.

    A line that is `known` is not read again: a sweep leaves AR's in every folder.

    Raises:
        FlybenchError: a line cannot be read, or the file is damaged.
    """
    for part in (file.with_name(f"{file.name}.xz"), file):
        if part.is_file():
            with lzma.open(part) if part != file else part.open("rb") as stream:
                yield from _built(part, stream, build, {} if known is None else known)


def _built(
    file: Path, stream: Iterable[bytes], build: Callable[[Any], Noun], known: Known
) -> Iterator[Noun]:
    for number, line in _numbered(file, stream):
        if not line.endswith(b"\n"):
            return  # half-written by a kill; it is cut before the next line is added
        digest = blake2b(line, digest_size=16).digest()
        if digest in known:
            yield known[digest]
            continue
        try:
            noun = known[digest] = build(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FlybenchError(
                f"{file} line {number} cannot be read ({type(error).__name__}: {error}): "
                "remove that line, and what it held is made again on resume."
            ) from error
        yield noun


def _numbered(file: Path, stream: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    try:
        yield from enumerate(stream, start=1)
    except (lzma.LZMAError, EOFError) as error:
        raise FlybenchError(
            f"{file} is damaged ({error}): put a whole copy in its place, or remove it, and the "
            "same `flybench run` makes again what it held."
        ) from error


def record_of(row: dict[str, Any]) -> Record:
    """A record from what its line holds.

    Raises:
        ValueError, KeyError, TypeError: it is none.
    """
    if not isinstance(row["sample_id"], str) or not (row["turns"] or row["error"]):
        raise ValueError("a record needs an id and, unless it failed, an answer")
    turns = [_generation(turn) for turn in row["turns"]]
    return Record(**{**row, "turns": turns, "telemetry": _telemetry(row.get("telemetry"))})


def score_of(row: dict[str, Any]) -> Score:
    """A score from what its line holds; older ones name no judgements.

    Raises:
        TypeError: it is none.
    """
    return Score(**{**row, "judgements": tuple(row.get("judgements", ()))})


def _generation(turn: dict[str, Any]) -> Generation:
    """An answer; older records say nothing of what the target thought of loose tokens."""
    rounds = [Round(**round_) for round_ in turn["rounds"]]
    loosened = [_loosened(token, turn) for token in turn.get("loosened", [])]
    return _possible(Generation(**{**turn, "rounds": rounds, "loosened": loosened}))


def _loosened(token: dict[str, Any], turn: dict[str, Any]) -> Loosened:
    found = Loosened(**{**token, "opinion": Opinion(**token["opinion"])})
    known = found.start is not None
    before = turn.get("begun", "") + turn["text"][: found.start] if known else None
    kind = classify(found.text, found.preferred_text, before, bool(found.copied))
    return replace(found, kind=kind)


def _possible(answer: Generation) -> Generation:
    """The same answer.

    Raises:
        ValueError, TypeError: its counts, its times or its text cannot be.
    """
    if any(not 0 <= round_.accepted <= round_.drafted for round_ in answer.rounds):
        raise ValueError("a round accepts more than it drafts")
    if not 0 <= answer.prefill_s <= answer.total_s < math.inf:
        raise ValueError("its times are no durations")
    if not isinstance(answer.text, str):
        raise TypeError("its text is none")
    return answer


def _telemetry(found: dict[str, Any] | None) -> Telemetry | None:
    """The telemetry of a record; older records have none."""
    return None if found is None else Telemetry([CardState(**card) for card in found["cards"]])


def _rounded(value: Any) -> Any:
    """The same with every float cut to `DECIMALS`."""
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
