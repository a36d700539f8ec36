"""`flybench report`: a page about runs, its markdown twin, and tables for papers."""

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
        help="where to write index.html, report.md, figures/ and tables/; reports/NAME without it, "
        "named after the first run",
    )
    parser.add_examples("flybench report results/llama8b-fly-gsm8k-* --out reports/gsm8k")


def run(asked: argparse.Namespace) -> int:
    """Write the report and print its path."""
    folders = RunFolder.all_existing(asked.runs)
    out = asked.out or Path("reports") / folders[0].path.resolve().name

    from flybench.report import write_report

    # Millions of rounds without a cycle among them, which the collector would search all the time.
    gc.disable()
    try:
        print(write_report(folders, out))
    finally:
        gc.enable()
    return 0
