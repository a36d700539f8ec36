"""`flybench compare A B`: compare two runs of the same samples, with gates for CI."""

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
    parser.add_argument("a", type=Path, metavar="A", help="the reference run")
    parser.add_argument("b", type=Path, metavar="B", help="the run to compare with A")
    parser.add_argument(
        "--max-retention-loss",
        type=float,
        dest="loss",
        metavar="SHARE",
        help="gate: B keeps at least 1 - SHARE of A's accuracy",
    )
    parser.add_argument(
        "--min-speedup",
        type=float,
        dest="speedup",
        metavar="RATIO",
        help="gate: B is at least RATIO times as fast as A; identical runs vary around 1, so use "
        "a ratio such as 0.97 that tolerates noise",
    )
    parser.add_argument(
        "--across-machines",
        action="store_true",
        help="also show times measured on different machines, and gate on speed-ups over AR",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    parser.add_exit_codes(
        [
            ("0", "every gate passes: its whole 95 % interval is at or above the threshold"),
            ("1", "a gate fails: its whole 95 % interval is below the threshold"),
            ("2", "the runs are not comparable or cannot be read"),
            ("3", "no gate fails, but at least one is not resolved"),
        ]
    )
    parser.add_examples("flybench compare results/before results/after --min-speedup 0.97")


def run(args: argparse.Namespace) -> int:
    """Print the comparison and return the exit code of the gates.

    Raises:
        FlybenchError: the threshold of a gate is not allowed, or the runs cannot be compared.
    """
    if args.loss is not None:
        share("--max-retention-loss", args.loss)
    if args.speedup is not None and not 0 < args.speedup < math.inf:
        raise FlybenchError(
            f"--min-speedup={args.speedup:g} is not allowed: use a number above 0, such as 0.97 "
            "for at most 3 % slower."
        )
    if args.json is not None and not args.json.parent.is_dir():
        raise FlybenchError(
            f"--json {args.json}: the folder {args.json.parent} does not exist: create it first."
        )
    for path in (args.a, args.b):
        RunFolder.existing(path)

    from flybench.analysis.compare.comparison import CompareOptions, compare_command

    return compare_command(
        CompareOptions(*(getattr(args, name) for name in CompareOptions._fields))
    )
