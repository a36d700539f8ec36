"""`flybench export RUN… --to parquet|datasets|lm_eval --out DIR`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flybench.cli.arguments import Parser
from flybench.config.checks import allow
from flybench.core.errors import FlybenchError
from flybench.interop.export.lm_eval import write_lm_eval
from flybench.interop.export.tables import write_datasets, write_parquet
from flybench.records.folder import RunFolder

WRITERS = {"parquet": write_parquet, "datasets": write_datasets, "lm_eval": write_lm_eval}


def export_command(arguments: Sequence[str]) -> int:
    """Write the runs' records in another tool's format, and print what was written.

    Raises:
        FlybenchError: there is no such run or format, or DIR holds something already.
    """
    parser = Parser("export")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--to", required=True)
    parser.add_argument("--out", required=True, type=Path)
    asked = parser.parse_args(list(arguments))
    allow("--to", asked.to, tuple(WRITERS))
    folders = RunFolder.all_existing(asked.runs)
    for folder in folders:
        if not folder.records():
            raise FlybenchError(
                f"{folder.path} holds no records yet: repeat its `flybench run`, which continues "
                "it, or leave it out."
            )
    if asked.out.exists() and (not asked.out.is_dir() or any(asked.out.iterdir())):
        raise FlybenchError(
            f"--out {asked.out} holds something already: give a new folder, or empty it first."
        )
    asked.out.mkdir(parents=True, exist_ok=True)
    for written in WRITERS[asked.to](folders, asked.out):
        print(written)
    return 0
