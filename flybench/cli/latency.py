"""`flybench latency`: measure what a step costs, or project a run's rounds at such costs."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from flybench.analysis.latency.costs import FILE
from flybench.analysis.latency.figure import figure
from flybench.analysis.latency.measure import Result, measure
from flybench.analysis.latency.pair import WEIGHTS, load_costed
from flybench.analysis.latency.projection import project
from flybench.analysis.latency.table import frame
from flybench.analysis.latency.terminal import text
from flybench.cli.arguments import Parser
from flybench.config import RunConfig, digest
from flybench.config.checks import allow
from flybench.config.compose import cells, parse_request
from flybench.core import FlybenchError
from flybench.distributed import rank
from flybench.engine.loading.placement import use_threads
from flybench.measure.clock import Clock, environment
from flybench.records.folder import RunFolder
from flybench.run.provenance import busy_warnings
from flybench.run.setup import check_devices, check_width


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


def measured(config: RunConfig, weights: str = WEIGHTS[0]) -> Path | None:
    """Measure, write and print; the folder, or None on ranks but the first.

    Raises:
        FlybenchError: the pair cannot be costed here.
    """
    if config.method.needs_head:
        raise FlybenchError(
            f"method={config.method.name} is not costed, since its head is no model with steps of "
            "its own: cost the target with method=spd or method=lookup."
        )
    device = check_devices(config)
    use_threads(config.engine)
    busy = busy_warnings(device)
    pair = load_costed(
        config.model, config.method.needs_draft_model, config.engine, weights, device
    )
    check_width(pair.engine, config.method)
    warnings = [*([] if pair.note is None else [pair.note]), *busy]
    for warning in [] if rank() else warnings:
        print(warning, file=sys.stderr)
    result = measure(pair, config.method, config.sampling.rule(), Clock(device))
    if rank():
        return None
    result |= {"warnings": warnings, "environment": environment(device)}
    folder = RunFolder(Path(config.out).expanduser() / _name(config, result))
    table = frame(result)
    folder.write_json(FILE, result)
    folder.write("latency.csv", table.to_csv(index=False))
    title = f"{pair.name} on {result['device']}, engine {pair.label}, {weights} weights"
    (folder.path / "latency.png").write_bytes(figure(table, title))
    print(f"{text(result)}\n\n{folder.path}")
    return folder.path


def _name(config: RunConfig, result: Result) -> str:
    """The same settings on the same device take the same folder."""
    identity = config.identity()
    decisive = [identity[name] for name in ("model", "method", "sampling")]
    decisive += [asdict(config.engine), result["device"], result["engine"], result["weights"]]
    device = re.sub(r"\W+", "-", result["device"]).strip("-")
    return f"latency-{config.model.name}-{device}-{digest(decisive)[:8]}"


def _project(arguments: Sequence[str]) -> int:
    parser = Parser("latency")
    parser.add_argument("--acceptance", type=Path, required=True, metavar="RUN")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("costs", nargs="*", type=Path)
    asked = parser.parse_args(list(arguments))
    folder = RunFolder.existing(asked.acceptance)
    print("\n\n".join(project(folder, path, asked.force) for path in asked.costs or [None]))
    return 0
