"""`flybench latency`: measure step costs, or project the speed-up of a run from them."""

from __future__ import annotations

import argparse
from pathlib import Path

from flybench.analysis.latency import WEIGHTS
from flybench.cli.parser import Parser
from flybench.cli.settings_help import ANY, ENGINE, METHOD, MODEL, OUT
from flybench.config.checks import allow
from flybench.config.compose import add_run_options, cells, make_request
from flybench.config.overrides import split_settings
from flybench.core.errors import FlybenchError
from flybench.records.folder import RunFolder


def declare(parser: Parser) -> None:
    """Add the options and settings of `flybench latency`."""
    add_run_options(parser)
    parser.add_argument(
        "--acceptance",
        type=Path,
        metavar="RUN",
        help="do not measure; project the speed-up of this run from the COSTS",
    )
    parser.add_argument(
        "costs",
        nargs="*",
        type=Path,
        metavar="COSTS",
        help="with --acceptance: latency.json files (default: the newest one of the same pair and "
        "device)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="with --acceptance: also accept costs measured for another pair or dtype",
    )
    parser.add_settings(
        [
            *MODEL,
            ("weights=random", "use random weights with the models' shapes; download no weights"),
            *METHOD,
            *ENGINE,
            *OUT,
            *ANY,
        ]
    )
    parser.add_examples(
        "flybench latency model=llama8b weights=random",
        "flybench latency --acceptance results/llama8b-fly-gsm8k-27fe587a",
    )


def run(args: argparse.Namespace) -> int:
    """Measure and write step costs, or print a projection."""
    if args.acceptance is not None:
        return _project(args)
    for word in [*args.costs, *(["--force"] if args.force else [])]:
        raise FlybenchError(
            f"{str(word)!r} is only allowed with --acceptance: add --acceptance RUN to project a "
            "run, or see `flybench latency --help`."
        )
    own, settings = split_settings(args.settings, (), ("weights",))
    weights = own.get("weights", WEIGHTS[0])
    allow("weights", weights, WEIGHTS)
    configs = cells(make_request(settings, args.multirun, args.config_dir))

    from flybench.analysis.latency.record import measured

    for config in configs:
        measured(config, weights)
    return 0


def _project(args: argparse.Namespace) -> int:
    if args.settings:
        raise FlybenchError(
            f"{args.settings[0].text} has no effect with --acceptance, which does not measure: "
            "remove it, or pass COSTS as files."
        )
    folder = RunFolder.existing(args.acceptance)

    from flybench.analysis.latency.projection import project

    print("\n\n".join(project(folder, path, args.force) for path in args.costs or [None]))
    return 0
