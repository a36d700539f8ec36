"""`flybench power`: how many samples show whether the accuracy is kept."""

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
        help="the accuracy loss that still counts as kept, such as 0.01; may be repeated; the "
        "run's own and common ones without it",
    )
    parser.add_exit_codes(
        [("0", "done"), ("2", "a run has no judged pairs of AR and a method to plan with")]
    )
    parser.add_examples("flybench power results/llama8b-fly-gsm8k-* --margin 0.02")


def run(asked: argparse.Namespace) -> int:
    """Print a table for each run and method."""
    for margin in asked.margin:
        share("--margin", margin)
    folders = RunFolder.all_existing(asked.runs)

    from flybench.analysis.power import power

    return power(folders, asked.margin)
