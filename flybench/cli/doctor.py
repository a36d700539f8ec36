"""`flybench doctor`: check what this machine can run."""

from __future__ import annotations

import argparse

from flybench.cli.parser import Parser


def declare(parser: Parser) -> None:
    """Add the exit code of `flybench doctor`, which has no options."""
    parser.add_exit_codes([("0", "always, because most checks concern optional features")])


def run(args: argparse.Namespace) -> int:
    """Print the results of all checks."""
    from flybench.run.doctor import doctor

    return doctor()
