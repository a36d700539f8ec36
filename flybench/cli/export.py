"""`flybench export`: records in another tool's format."""

from __future__ import annotations

import argparse
from pathlib import Path

from flybench.cli.parser import Parser
from flybench.config.checks import allow
from flybench.core.errors import FlybenchError
from flybench.records.folder import RunFolder

FORMATS = ("parquet", "datasets", "lm_eval")


def declare(parser: Parser) -> None:
    """Add the options of `flybench export`."""
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="a folder that `flybench run` printed"
    )
    parser.add_argument(
        "--to",
        required=True,
        metavar="FORMAT",
        help="parquet or datasets, a row for each sample and method; or lm_eval, its "
        "results_*.json and samples_*.jsonl",
    )
    parser.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help="a new or empty folder to write to"
    )
    parser.add_examples("flybench export results/llama8b-fly-gsm8k-* --to parquet --out exported")


def run(asked: argparse.Namespace) -> int:
    """Write the runs' records and print what was written.

    Raises:
        FlybenchError: there is no such run or format, or DIR holds something already.
    """
    allow("--to", asked.to, FORMATS)
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

    from flybench.interop.export.lm_eval import write_lm_eval
    from flybench.interop.export.rows import write_datasets, write_parquet

    writers = dict(zip(FORMATS, (write_parquet, write_datasets, write_lm_eval), strict=True))
    asked.out.mkdir(parents=True, exist_ok=True)
    for written in writers[asked.to](folders, asked.out):
        print(written)
    return 0
