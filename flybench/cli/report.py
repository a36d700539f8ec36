"""`flybench report`: write an HTML page about runs, the same as Markdown, and tables for papers."""

from __future__ import annotations

import argparse
import gc
from pathlib import Path

from flybench.cli.parser import Parser
from flybench.records.folder import RunFolder


def declare(parser: Parser) -> None:
    """Add the options of `flybench report`."""
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="a folder that `flybench run` printed"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for index.html, report.md, figures/ and tables/ (default: reports/NAME, where "
        "NAME is that of the first run)",
    )
    parser.add_examples("flybench report results/llama8b-fly-gsm8k-* --out reports/gsm8k")


def run(args: argparse.Namespace) -> int:
    """Write the report and print its path."""
    folders = RunFolder.all_existing(args.runs)
    out = args.out or Path("reports") / folders[0].path.resolve().name

    from flybench.report import write_report

    # Records have millions of objects and no cycles, so collections would only cost time.
    gc.disable()
    try:
        print(write_report(folders, out))
    finally:
        gc.enable()
    return 0
