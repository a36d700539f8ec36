"""`flybench list`: list the options of a group."""

from __future__ import annotations

import argparse

from flybench.cli.parser import Parser
from flybench.config.checks import suggestion
from flybench.config.compose import add_config_dir
from flybench.config.groups import CHOICES, options
from flybench.core.errors import FlybenchError

LISTED = {f"{group}s": group for group in CHOICES}


def declare(parser: Parser) -> None:
    """Add the options of `flybench list`."""
    parser.add_argument("what", nargs="?", metavar="GROUP", help=f"one of {', '.join(LISTED)}")
    add_config_dir(parser)
    parser.add_examples("flybench list models", "flybench list methods --config-dir own")


def run(args: argparse.Namespace) -> int:
    """Print each name with its description."""
    if args.what not in LISTED:
        problem = f"GROUP={args.what} is not known" if args.what else "GROUP is missing"
        raise FlybenchError(
            f"{problem}: use one of {', '.join(LISTED)}{suggestion(args.what or '', LISTED)}."
        )
    if args.config_dir is not None and not args.config_dir.is_dir():
        raise FlybenchError(f"--config-dir {args.config_dir} is not a folder: check the path.")
    known = options(LISTED[args.what], args.config_dir)
    width = max(map(len, known))
    for name, description in known.items():
        print(f"{name:{width}}  {description}")
    return 0
