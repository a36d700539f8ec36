"""Output files of a tuning run: a method, tables, a figure and a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import yaml

from flybench.analysis.tune.confirm import CandidateResult
from flybench.analysis.tune.recommendation import Recommendation
from flybench.analysis.tune.search import SearchResult
from flybench.analysis.tune.search_space import describe_method
from flybench.config import RunConfig, to_tree
from flybench.metrics.paired import Estimate
from flybench.records.folder import RunFolder
from flybench.report.plot import LIGHT, Axes, legend_below, png

TUNED = "tuned"
CONF = f"conf/method/{TUNED}.yaml"


def write_method(folder: RunFolder, decided: Recommendation, config: RunConfig) -> None:
    """Write `conf/method/tuned.yaml` for `--config-dir`, or remove it if AR is recommended."""
    file = folder.path / CONF
    if decided.method is None:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    about = f"by flybench tune for {config.model.name} on {config.task.name}"
    method = replace(
        decided.method, name=TUNED, description=f"{describe_method(decided.method)}, {about}"
    )
    file.write_text(yaml.safe_dump(to_tree(method), sort_keys=False), encoding="utf-8")


def write_evidence(
    folder: RunFolder, found: SearchResult, results: Sequence[CandidateResult], page: str
) -> None:
    """Write the report, the replayed grid, the real runs, and a figure of both."""
    folder.write("tune.md", page)
    folder.write("grid.csv", found.table.to_csv(index=False))
    folder.write("confirmed.csv", pd.DataFrame(map(_row, results)).to_csv(index=False))
    drawing = png((lambda axes, theme: _draw(axes, found, results),), 6.4, 4.2)
    (folder.path / "front.png").write_bytes(drawing)


def _row(result: CandidateResult) -> dict[str, Any]:
    """Return a result as a flat row, with two columns for each interval."""
    method = result.method
    row: dict[str, Any] = {"method": method.name, "k": method.k, "draft": method.draft.kind}
    row |= method.verify.tree() | {"run": result.folder.path.name}
    row |= {
        name: getattr(result, name) for name in ("n", "failed", "level", "state", "length_ratio")
    }
    for name in ("speedup", "gain", "retention"):
        estimate: Estimate = getattr(result, name)
        low, high = estimate.interval or (None, None)
        row |= {name: estimate.point, f"{name}_low": low, f"{name}_high": high}
    pairs = result.pairs
    return row | ({} if pairs is None else pairs._asdict())


def _draw(axes: Axes, found: SearchResult, results: Sequence[CandidateResult]) -> None:
    """Plot projected and measured speed-ups against risk."""
    table = found.table
    style: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4}
    for name, rows, colour in (
        ("replayed", table[~table["front"]], "grey"),
        ("replayed, on the front", table[table["front"]], "blue"),
    ):
        axes.plot(rows["speedup"], rows["risk"], color=LIGHT[colour], label=name, **style)
    for index, each in enumerate(results):
        risk, label = found.row(each.method)["risk"], None if index else "measured, with intervals"
        ends = each.speedup.interval or (np.nan, np.nan)
        axes.plot(ends, (risk, risk), color=LIGHT["red"])
        axes.plot(
            np.array([each.speedup.point], float),
            risk,
            "s",
            color=LIGHT["red"],
            markersize=5,
            label=label,
        )
    axes.axvline(1, color=LIGHT["soft"], linewidth=1)
    axes.set(xlabel="speed-up over AR (×)", ylabel="risk: weighted loose tokens in 1,000")
    legend_below(axes, columns=3)
