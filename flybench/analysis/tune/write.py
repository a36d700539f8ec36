"""What a tuning leaves behind: a method's file, tables, a figure, and a page in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import yaml

from flybench.analysis.tune.confirm import Finding
from flybench.analysis.tune.search import Found
from flybench.analysis.tune.settings import told
from flybench.analysis.tune.verdict import Verdict
from flybench.config import RunConfig, to_tree
from flybench.records.folder import RunFolder
from flybench.report.plot import LIGHT, Axes, legend_below, png

TUNED = "tuned"
CONF = f"conf/method/{TUNED}.yaml"


def write_method(folder: RunFolder, decided: Verdict, config: RunConfig) -> None:
    """`conf/method/tuned.yaml` for `--config-dir`; none where AR is the best there is."""
    file = folder.path / CONF
    if decided.method is None:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    about = f"by flybench tune for {config.model.name} on {config.task.name}"
    method = replace(decided.method, name=TUNED, description=f"{told(decided.method)}, {about}")
    file.write_text(yaml.safe_dump(to_tree(method), sort_keys=False), encoding="utf-8")


def write_evidence(folder: RunFolder, found: Found, findings: Sequence[Finding], page: str) -> None:
    """The page, the replayed grid, what was confirmed, and the figure of both."""
    folder.write("tune.md", page)
    folder.write("grid.csv", found.table.to_csv(index=False))
    folder.write("confirmed.csv", pd.DataFrame(map(_row, findings)).to_csv(index=False))
    drawing = png((lambda axes, theme: _draw(axes, found, findings),), 6.4, 4.2)
    (folder.path / "front.png").write_bytes(drawing)


def _row(finding: Finding) -> dict[str, Any]:
    """A finding as a flat row; two columns for each interval."""
    method = finding.method
    row: dict[str, Any] = {"method": method.name, "k": method.k, "draft": method.draft.kind}
    row |= method.verify.tree() | {"run": finding.folder.path.name}
    row |= {
        name: getattr(finding, name) for name in ("n", "failed", "level", "state", "length_ratio")
    }
    for name in ("speedup", "gain", "retention"):
        low, high = getattr(finding, f"{name}_ends") or (None, None)
        row |= {name: getattr(finding, name), f"{name}_low": low, f"{name}_high": high}
    pairs = finding.pairs
    return row | ({} if pairs is None else pairs._asdict())


def _draw(axes: Axes, found: Found, findings: Sequence[Finding]) -> None:
    """Projected speed against risk; what real runs measured beside what was projected for them."""
    table = found.table
    style: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4}
    for name, rows, colour in (
        ("replayed", table[~table["front"]], "grey"),
        ("replayed, on the front", table[table["front"]], "blue"),
    ):
        axes.plot(rows["speedup"], rows["risk"], color=LIGHT[colour], label=name, **style)
    for place, each in enumerate(findings):
        risk, label = found.row(each.method)["risk"], None if place else "measured, with intervals"
        ends = each.speedup_ends or (np.nan, np.nan)
        axes.plot(ends, (risk, risk), color=LIGHT["red"])
        axes.plot(
            np.array([each.speedup], float),
            risk,
            "s",
            color=LIGHT["red"],
            markersize=5,
            label=label,
        )
    axes.axvline(1, color=LIGHT["soft"], linewidth=1)
    axes.set(xlabel="speed-up over AR (×)", ylabel="risk: weighted loose tokens in 1,000")
    legend_below(axes, columns=3)
