"""Traces of a run's records: one `traces/NAME.parquet` for each, written before the record.

The name is a hash of the record's content, so traces of a superseded answer are never read. The
three probabilities are recorded for studying acceptance; replays do not use them.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from flybench.config import digest
from flybench.core.errors import FlybenchError
from flybench.core.files import atomic_write
from flybench.core.samples import Record, RowTrace
from flybench.records.folder import RunFolder

FOLDER = "traces"
# Entropies keep full precision, because rules compare them with θ.
KINDS = {
    "sample_id": "category",
    "method": "category",
    "turn": "int16",
    "round": "int32",
    "position": "int16",
    "token": "int32",
    "choice": "int32",
    "entropy": "float32",
    "top3_entropy": "float32",
    "probability": "float16",
    "max_probability": "float16",
    "draft_probability": "float16",
}


def trace_file(folder: RunFolder, record: Record) -> Path:
    """Return the file of the traces of a record."""
    answers = [[turn.ids, [round_.outcomes for round_ in turn.rounds]] for turn in record.turns]
    name = digest([record.sample_id, record.method, answers])[:24]
    return folder.path / FOLDER / f"{name}.parquet"


def has_traces(folder: RunFolder, record: Record) -> bool:
    """Return whether the traces of a record exist."""
    return trace_file(folder, record).is_file()


def write_traces(folder: RunFolder, record: Record) -> None:
    """Write the traces of a record atomically; a failed record has none."""
    if record.error is not None:
        return
    file = trace_file(folder, record)
    with atomic_write(file) as partial:
        trace_frame(record).to_parquet(partial, engine="pyarrow", compression="zstd", index=False)


def trace_frame(record: Record) -> pd.DataFrame:
    """Return one row for each draft token of each round in order, and one for the next token.

    Columns are those of `KINDS`: the position of the row, and the fields of `RowTrace`.
    """
    positions = [
        (turn_number, number, position)
        for turn_number, turn in enumerate(record.turns)
        for number, round_ in enumerate(turn.rounds)
        for position in range(round_.drafted + 1)
    ]
    rows = [row for turn in record.turns for row in turn.traces]
    frame = pd.concat(
        [
            pd.DataFrame(positions, columns=["turn", "round", "position"]),
            pd.DataFrame(rows, columns=RowTrace._fields),
        ],
        axis=1,
    )
    return frame.assign(sample_id=record.sample_id, method=record.method)[[*KINDS]].astype(KINDS)


def read_traces(folder: RunFolder, record: Record) -> pd.DataFrame:
    """Read the frame of a record's traces, as returned by `trace_frame`.

    Raises:
        FlybenchError: the traces are missing or damaged.
    """
    file = trace_file(folder, record)
    if not file.is_file():
        raise FlybenchError(
            f"{folder.path} has no traces for sample {record.sample_id}: rerun its `flybench run` "
            "with record.traces=true to decode the samples that lack traces."
        )
    try:
        frame = pd.read_parquet(file, engine="pyarrow")
        complete = [*frame] == [*KINDS] and len(frame) == _rows(record)
    except (OSError, ValueError) as error:  # pyarrow's own errors are of these kinds
        raise _damaged(file) from error
    if not complete:
        raise _damaged(file)
    return frame


def _rows(record: Record) -> int:
    return sum(round_.drafted + 1 for turn in record.turns for round_ in turn.rounds)


def _damaged(file: Path) -> FlybenchError:
    return FlybenchError(
        f"{file} is damaged: delete it and rerun `flybench run` with record.traces=true to "
        "regenerate it."
    )
