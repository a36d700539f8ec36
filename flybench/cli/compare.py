"""`flybench compare A B`: two runs of the same questions, paired, with gates for CI."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from flybench.cli.parser import Parser
from flybench.config.checks import share
from flybench.core.errors import FlybenchError
from flybench.records.folder import RunFolder


def declare(parser: Parser) -> None:
    """Add the options of `flybench compare`."""
    parser.add_argument("a", type=Path, metavar="A", help="the run to compare with")
    parser.add_argument("b", type=Path, metavar="B", help="the run that is compared")
    parser.add_argument(
        "--max-retention-loss",
        type=float,
        dest="loss",
        metavar="SHARE",
        help="a gate: B keeps at least 1 - SHARE of A's accuracy",
    )
    parser.add_argument(
        "--min-speedup",
        type=float,
        dest="speedup",
        metavar="RATIO",
        help="a gate: B answers at least RATIO times as fast as A; equal runs scatter around 1, so "
        "0.97 is a bar that noise passes",
    )
    parser.add_argument(
        "--across-machines",
        action="store_true",
        help="show the times of unlike machines too, and compare speed-ups over AR",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_exit_codes(
        [
            ("0", "every gate holds: its whole 95 % interval does"),
            ("1", "a gate is broken: its whole interval is below the bar"),
            ("2", "the runs are unlike or cannot be read"),
            ("3", "no gate is broken, and one is not resolved"),
        ]
    )
    parser.add_examples("flybench compare results/before results/after --min-speedup 0.97")


def run(asked: argparse.Namespace) -> int:
    """Print the comparison; the exit code is that of the gates.

    Raises:
        FlybenchError: a gate's bar is not allowed, or the runs cannot be compared.
    """
    if asked.loss is not None:
        share("--max-retention-loss", asked.loss)
    if asked.speedup is not None and not 0 < asked.speedup < math.inf:
        raise FlybenchError(
            f"--min-speedup={asked.speedup:g} is not allowed: use a number above 0, such as 0.97 "
            "for at most 3 % slower."
        )
    if asked.json is not None and not asked.json.parent.is_dir():
        raise FlybenchError(f"--json {asked.json} is in no folder that exists: make it first.")
    for path in (asked.a, asked.b):
        RunFolder.existing(path)

    from flybench.analysis.compare.comparison import CompareOptions, compare_command

    return compare_command(
        CompareOptions(*(getattr(asked, name) for name in CompareOptions._fields))
    )
