"""`flybench doctor`: what this machine can run, and what to do about the rest."""

from __future__ import annotations

import argparse

from flybench.cli.parser import Parser


def declare(parser: Parser) -> None:
    """Add nothing: the verb takes no options."""
    parser.add_exit_codes([("0", "whatever is missing, since most of it is optional")])


def run(asked: argparse.Namespace) -> int:
    """Print every finding."""
    from flybench.run.doctor import doctor

    return doctor()
