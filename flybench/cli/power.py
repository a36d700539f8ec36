"""`flybench power`: estimate the number of samples needed to show that accuracy is kept."""

from __future__ import annotations

import argparse
from pathlib import Path

from flybench.cli.parser import Parser
from flybench.config.checks import share
from flybench.records.folder import RunFolder


def declare(parser: Parser) -> None:
    """Add the options of `flybench power`."""
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="a folder that `flybench run` printed"
    )
    parser.add_argument(
        "--margin",
        type=float,
        action="append",
        default=[],
        metavar="SHARE",
        help="largest accuracy loss that still counts as retained, such as 0.01; repeatable "
        "(default: the run's margin and common values)",
    )
    parser.add_exit_codes(
        [("0", "success"), ("2", "a run has no scored pairs of AR and a method to plan with")]
    )
    parser.add_examples("flybench power results/llama8b-fly-gsm8k-* --margin 0.02")


def run(args: argparse.Namespace) -> int:
    """Print a table per run and method."""
    for margin in args.margin:
        share("--margin", margin)
    folders = RunFolder.all_existing(args.runs)

    from flybench.analysis.power import power

    return power(folders, args.margin)
