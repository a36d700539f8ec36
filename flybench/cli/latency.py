"""`flybench latency`: measure the cost of a step, or project a run's rounds at such costs."""

from __future__ import annotations

import argparse
from pathlib import Path

from flybench.analysis.latency import WEIGHTS
from flybench.cli.parser import Parser
from flybench.cli.settings import ANY, ENGINE, METHOD, MODEL, OUT
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
        help="measure nothing, and project the speed-up of this run's rounds at the COSTS",
    )
    parser.add_argument(
        "costs",
        nargs="*",
        type=Path,
        metavar="COSTS",
        help="with --acceptance: latency.json files; the newest of the same pair and device "
        "without any",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="with --acceptance: take costs of another pair or number type too",
    )
    parser.add_settings(
        [
            *MODEL,
            ("weights=random", "the models' shapes with random weights, nothing fetched"),
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


def run(asked: argparse.Namespace) -> int:
    """Print, and for a measurement also write, what the arguments ask for."""
    if asked.acceptance is not None:
        return _project(asked)
    for word in [*asked.costs, *(["--force"] if asked.force else [])]:
        raise FlybenchError(
            f"{str(word)!r} is neither an option of a measurement nor key=value: add --acceptance "
            "RUN to project one, or see `flybench latency --help`."
        )
    own, settings = split_settings(asked.settings, (), ("weights",))
    weights = own.get("weights", WEIGHTS[0])
    allow("weights", weights, WEIGHTS)
    configs = cells(make_request(settings, asked.multirun, asked.config_dir))

    from flybench.analysis.latency.record import measured

    for config in configs:
        measured(config, weights)
    return 0


def _project(asked: argparse.Namespace) -> int:
    if asked.settings:
        raise FlybenchError(
            f"{asked.settings[0].text} has no effect with --acceptance, which measures nothing: "
            "leave it out, or give COSTS as files."
        )
    folder = RunFolder.existing(asked.acceptance)

    from flybench.analysis.latency.projection import project

    print("\n\n".join(project(folder, path, asked.force) for path in asked.costs or [None]))
    return 0
