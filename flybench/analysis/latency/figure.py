"""Step time along each axis, with the two floors beneath it."""

from __future__ import annotations

import pandas as pd

from flybench.report.plot import Axes, Draw, Theme, legend_below, log_scales, png

HUES = {"target": "blue", "draft": "orange"}
MARKS = {"target": "o", "draft": "s"}
LABELS = {
    "width": "width (tokens a pass)",
    "context": "context (tokens in the cache)",
    "batch": "batch (texts)",
}
FLOORS = {"bytes": "--", "operations": ":"}


def figure(table: pd.DataFrame, title: str) -> bytes:
    """A PNG with one panel an axis, from the table of `flybench.analysis.latency.table.frame`."""
    # Far below what binds, the other floor says nothing.
    binding = table[[f"{kind}_floor_ms" for kind in FLOORS]].max(axis=1)
    lowest = pd.concat([table["step_ms"], binding]).min() / 3

    def panel(axis: str) -> Draw:
        shown = table[table["varied"].isin(("base", axis))]

        def draw(axes: Axes, theme: Theme) -> None:
            for role in dict.fromkeys(shown["model"]):
                rows = shown[shown["model"] == role].sort_values(axis)
                _lines(axes, rows, axis, theme, role)
            log_scales(axes, sorted(set(shown[axis])))
            axes.set(xlabel=LABELS[axis])
            if axis == "width":
                axes.set(ylabel="step (ms)", ylim=(None if pd.isna(lowest) else lowest, None))
                axes.set_title(title, loc="left", fontsize=9.5)
                legend_below(axes, columns=2)

        return draw

    return png([panel(axis) for axis in LABELS], 9.6, 4.2)


def _lines(axes: Axes, rows: pd.DataFrame, axis: str, theme: Theme, role: str) -> None:
    hue = theme[HUES[role]]
    measured = rows.dropna(subset=["step_ms"])
    where = measured[axis]
    axes.fill_between(
        where, measured["p10_ms"], measured["p90_ms"], color=hue, alpha=0.2, linewidth=0
    )
    label = f"{role}: median, p10 to p90 shaded"
    axes.plot(where, measured["step_ms"], color=hue, marker=MARKS[role], ms=4, label=label)
    for kind, style in FLOORS.items():
        floor = rows[f"{kind}_floor_ms"]
        label = f"{role}: floor by {kind}"
        axes.plot(rows[axis], floor, color=hue, linestyle=style, linewidth=1, label=label)
