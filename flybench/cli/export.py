"""`flybench export`: write records in the format of another tool."""

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
        help="parquet or datasets: one row per sample and method; lm_eval: its results_*.json and "
        "samples_*.jsonl",
    )
    parser.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help="a new or empty output folder"
    )
    parser.add_examples("flybench export results/llama8b-fly-gsm8k-* --to parquet --out exported")


def run(args: argparse.Namespace) -> int:
    """Write the records of the runs and print the paths of the files.

    Raises:
        FlybenchError: a run or the format does not exist, or DIR is not empty.
    """
    allow("--to", args.to, FORMATS)
    folders = RunFolder.all_existing(args.runs)
    for folder in folders:
        if not folder.records():
            raise FlybenchError(
                f"{folder.path} has no records yet: rerun its `flybench run` command to "
                "resume it, or leave the run out."
            )
    if args.out.exists() and (not args.out.is_dir() or any(args.out.iterdir())):
        raise FlybenchError(
            f"--out {args.out} is not an empty folder: use a new folder, or empty it first."
        )

    from flybench.interop.export.lm_eval import write_lm_eval
    from flybench.interop.export.rows import write_datasets, write_parquet

    writers = dict(zip(FORMATS, (write_parquet, write_datasets, write_lm_eval), strict=True))
    args.out.mkdir(parents=True, exist_ok=True)
    for written in writers[args.to](folders, args.out):
        print(written)
    return 0
