"""Projection of a run's speed-up from measured costs.

A projection is not a measurement. It keeps the acceptance of the run's recorded rounds and replaces
their times. The speed-up is tokens per second, method ÷ AR, with an interval over the samples that
both finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from flybench.analysis.latency.costs import (
    FILE,
    RoundCosts,
    measured_costs,
    read_costs,
    recorded_costs,
)
from flybench.analysis.latency.measure import Result
from flybench.config import BASELINES
from flybench.config.groups import read_yaml
from flybench.core.errors import FlybenchError
from flybench.core.files import json_plain
from flybench.metrics.method_summary import MethodSummary
from flybench.metrics.paired import Estimate, joined, rate_estimate
from flybench.metrics.results import baseline_of, results
from flybench.records.folder import RunFolder
from flybench.report.tables.table import cell
from flybench.text import NONE, aligned, number

Row = dict[str, Any]


def project(folder: RunFolder, path: Path | None, force: bool) -> str:
    """Return a table of every method of the run at the costs of `path`, with its assumptions.

    Without a path, use the newest measurement of the same pair, device and engine in the run's
    parent folder, or else the run's own times. `force` accepts the costs of another model.

    Raises:
        FlybenchError: the costs are of another model or incomplete, or the run has no pairs.
    """
    known = folder.provenance()
    dtype = read_yaml(folder.config_file).get("engine", {}).get("dtype")
    path = path or newest(folder.path.parent, known, dtype, [known["method_config"]])
    result = None if path is None else allowed_costs(folder, known, path, force)
    lines = [["method", "tau", "gamma", "speed-up (projection)", "speed-up (measured)", "error"]]
    notes: list[str] = []
    comparable = result is None or (same_model(result, known) and same_machine(result, known))
    for each in results(folder):
        row, rounds, method = each.row, each.rounds, known["method_config"]
        if row.method in BASELINES or not row.n_paired:
            continue
        plain = baseline_of(each.folder).rounds
        costs = (
            recorded_costs(plain, rounds, method)
            if result is None
            else measured_costs(result, str(path), method, rounds)
        )
        lines.append(_line(row, projection(plain, rounds, costs, method["k"]), comparable))
        notes.append(f"projection: rounds of {folder.path}, costs of {costs.source}.")
        notes.append(f"It assumes that {', and that '.join(costs.assumed)}.")
    if len(lines) == 1:
        raise FlybenchError(
            f"{folder.path} has no sample that both AR and another method finished: resume it "
            "with the same `flybench run` command, or choose another run."
        )
    return "\n".join((aligned(lines), *notes))


def projection(plain: pd.DataFrame, rounds: pd.DataFrame, costs: RoundCosts, k: int) -> Estimate:
    """Return tokens per second, `rounds` ÷ AR's rounds `plain`, both at `costs`."""
    timed = (
        plain.assign(seconds=costs.ar_round_s),
        rounds.assign(seconds=costs.seconds(rounds["drafted"].to_numpy(dtype=float), k)),
    )
    ar, own = (
        frame.groupby("sample_id", observed=True)[["emitted", "seconds"]].sum() for frame in timed
    )
    return rate_estimate(joined(ar, own), "emitted", "seconds")


def allowed_costs(folder: RunFolder, known: Row, path: Path, force: bool = False) -> Result:
    """Return the costs at `path` for a run whose provenance is `known`.

    Raises:
        FlybenchError: the file is not a measurement, or is of another model without `force`.
    """
    result = read_costs(path)
    if not same_model(result, known) and not force:
        raise FlybenchError(
            f"the costs in {path} are for {result['model']}, but {folder.path} ran "
            f"{known['model']} (or the same pair with other paths, layers or bits): choose costs "
            "for that pair, or override with `flybench latency --acceptance RUN COSTS --force`."
        )
    return result


def check_costs(result: Result, source: str, methods: Sequence[Row]) -> None:
    """Check that a measurement has all parts that these methods need.

    Raises:
        FlybenchError: a part is missing.
    """
    for method in methods:
        measured_costs(result, source, method, pd.DataFrame({"draft_s": [0.0]}))


def newest(
    results: Path, known: Row, dtype: str | None, methods: Sequence[Row] = ()
) -> Path | None:
    """Return the newest measurement in `results` that matches a run, or None.

    It has the model, paths, device and engine of the run's provenance `known`, the same dtype, and
    all parts that `methods` need.
    """
    files = sorted(results.glob(f"latency-*/{FILE}"), key=lambda f: f.stat().st_mtime)
    for file in reversed(files):
        try:
            result = read_costs(file)
            check_costs(result, str(file), methods)
        except FlybenchError:
            continue  # an error only for a file that is named
        same = same_model(result, known) and same_machine(result, known)
        if same and result["dtype"] == dtype:
            return file
    return None


def same_model(result: Result, known: Row) -> bool:
    """Return whether a measurement and a run have the same pair: names, paths and layers."""
    if result["model"] != known["model"]:
        return False
    roles = [role for role, ref in known["models"].items() if ref and role in result["models"]]
    return all(
        json_plain(result["models"][role].get(name)) == json_plain(known["models"][role].get(name))
        for role in roles
        for name in ("path", "skip_layers", "quantize")
    )


def same_machine(result: Result, known: Row) -> bool:
    """Return whether a measurement and a run have the same device and engine."""
    return all(result[name] == known[name] for name in ("device", "engine"))


def _line(row: MethodSummary, projected: Estimate, comparable: bool) -> list[str]:
    point, measured = projected.point, row.speedup_throughput
    error = point / measured - 1 if comparable and point and measured else None
    return [
        row.method,
        cell(row, "tau_pooled").text,
        number(row.gamma, 1),
        projected.text(),
        row.estimate("speedup_throughput").text(),
        NONE if error is None else f"{100 * error:+.1f} %",
    ]
