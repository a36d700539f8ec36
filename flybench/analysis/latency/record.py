"""Measure a pair and write latency.json, a table and a figure into a folder."""

from __future__ import annotations

import logging
import re
from dataclasses import asdict
from pathlib import Path

from flybench.analysis.latency import WEIGHTS
from flybench.analysis.latency.costs import FILE
from flybench.analysis.latency.measure import Result, measure
from flybench.analysis.latency.pair import load_timed
from flybench.analysis.latency.table import figure, frame
from flybench.analysis.latency.terminal import text
from flybench.config import RunConfig, digest
from flybench.core.errors import FlybenchError
from flybench.distributed import rank
from flybench.engine.loading.placement import use_threads
from flybench.measure.clock import Clock
from flybench.measure.environment import environment
from flybench.records.folder import RunFolder
from flybench.run.provenance import busy_warnings
from flybench.run.setup import check_devices, check_width

log = logging.getLogger(__name__)


def measured(config: RunConfig, weights: str = WEIGHTS[0]) -> Path | None:
    """Measure, write and print; return the folder, or None on ranks other than the first.

    Raises:
        FlybenchError: the pair cannot be costed here.
    """
    if config.method.needs_head:
        raise FlybenchError(
            f"method={config.method.name} cannot be timed, because its head is not a separate "
            "model: time the target with method=spd or method=lookup."
        )
    device = check_devices(config)
    use_threads(config.engine)
    busy = busy_warnings(device)
    pair = load_timed(config.model, config.method.needs_draft_model, config.engine, weights, device)
    check_width(pair.engine, config.method)
    warnings = [*([] if pair.note is None else [pair.note]), *busy]
    for warning in [] if rank() else warnings:
        log.warning("%s", warning)
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
    """Return the name of the folder, which is the same for the same settings and device."""
    identity = config.identity()
    decisive = [identity[name] for name in ("model", "method", "sampling")]
    decisive += [asdict(config.engine), result["device"], result["engine"], result["weights"]]
    device = re.sub(r"\W+", "-", result["device"]).strip("-")
    return f"latency-{config.model.name}-{device}-{digest(decisive)[:8]}"
