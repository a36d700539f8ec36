"""Lines of JSON: records, scores and judgements, appended durably and read back typed."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from flybench.core.errors import FlybenchError
from flybench.core.samples import Record

RecordType = TypeVar("RecordType")
LINE_BUFFER = 1 << 20  # bytes; lines are longer than Python's default buffer
DECIMALS = 6  # of every float in a record: a microsecond, a millionth of a probability


def record_line(record: Record) -> bytes:
    """Return a record as one line, without traces and with floats rounded to `DECIMALS`."""
    row = _rounded(msgspec.to_builtins(record))
    for turn in row["turns"]:
        del turn["traces"]
    return line(row)


def line(value: Any) -> bytes:
    """Return a value as one line of JSON; infinities and lone surrogates as `json` has them."""
    return json.dumps(msgspec.to_builtins(value)).encode() + b"\n"


def append_line(file: Path, data: bytes) -> None:
    """Append a line and flush it to disk."""
    with file.open("ab") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def read_jsonl(file: Path, kind: type[RecordType]) -> Iterator[RecordType]:
    """Read the lines of a file as `kind`, those of its compressed part (`.xz`) first.

    A missing file has no lines. An incomplete last line, as left by a killed process, is skipped.

    Raises:
        FlybenchError: a line cannot be read as `kind`, or the file is damaged.
    """
    decoder = msgspec.json.Decoder(kind)
    for part in (file.with_name(f"{file.name}.xz"), file):
        if not part.is_file():
            continue
        with lzma.open(part) if part != file else part.open("rb", LINE_BUFFER) as stream:
            for number, data in _numbered(part, stream):
                if data.endswith(b"\n"):
                    yield _decoded(data, decoder, f"{part} line {number}")


def _decoded(data: bytes, decoder: msgspec.json.Decoder[RecordType], where: str) -> RecordType:
    try:
        try:
            return decoder.decode(data)
        except msgspec.DecodeError:  # msgspec does not accept Infinity or lone surrogates
            return msgspec.convert(json.loads(data), decoder.type)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise FlybenchError(
            f"{where} cannot be read ({type(error).__name__}: {error}): remove that line and "
            "resume the run to regenerate it."
        ) from error


def _numbered(file: Path, stream: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    try:
        yield from enumerate(stream, start=1)
    except (lzma.LZMAError, EOFError) as error:
        raise FlybenchError(
            f"{file} is damaged ({error}): restore it from a backup, or delete it and rerun the "
            "same `flybench run` to regenerate it."
        ) from error


def _rounded(value: Any) -> Any:
    """Return plain data with every float rounded to `DECIMALS`."""
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
