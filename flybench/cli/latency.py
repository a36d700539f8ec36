"""`flybench latency`: measure what a step costs, or project a run's rounds at such costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flybench.analysis.latency.pair import WEIGHTS
from flybench.analysis.latency.projection import project
from flybench.analysis.latency.record import measured
from flybench.cli.arguments import Parser
from flybench.config.checks import allow
from flybench.config.compose import cells, parse_request
from flybench.records.folder import RunFolder


def latency_command(arguments: Sequence[str]) -> int:
    """Print, and for a measurement also write, what the arguments ask for."""
    if any(argument.startswith("--acceptance") for argument in arguments):
        return _project(arguments)
    weights = WEIGHTS[0]
    rest = []
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name == "weights":
            weights = value
        else:
            rest.append(argument)
    allow("weights", weights, WEIGHTS)
    for config in cells(parse_request(rest)):
        measured(config, weights)
    return 0


def _project(arguments: Sequence[str]) -> int:
    parser = Parser("latency")
    parser.add_argument("--acceptance", type=Path, required=True, metavar="RUN")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("costs", nargs="*", type=Path)
    asked = parser.parse_args(list(arguments))
    folder = RunFolder.existing(asked.acceptance)
    print("\n\n".join(project(folder, path, asked.force) for path in asked.costs or [None]))
    return 0
