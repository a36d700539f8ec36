"""Figures of the report by section; each shows the methods of one task and model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flybench.report.figures.acceptance import lengths, positions
from flybench.report.figures.divergence import divergence
from flybench.report.figures.grid import grids
from flybench.report.figures.outcomes import entropies, outcomes
from flybench.report.figures.pareto import pareto
from flybench.report.figures.series import Styles, styles
from flybench.report.figures.time import phases, taus
from flybench.report.group import Group
from flybench.report.plot import Plot

Figure = Callable[[Group, Styles], Plot | None]
FIGURES: dict[str, tuple[Figure, ...]] = {
    "verdict": (pareto,),
    "time": (phases, taus),
    "why": (lengths, positions, outcomes, entropies),
    "differences": (divergence,),
}


def drawn(groups: Sequence[Group], styles_: Styles, section: str) -> list[Plot]:
    """Draw the figures of one section, group by group."""
    candidates = [figure(group, styles_) for group in groups for figure in FIGURES[section]]
    return [plot for plot in candidates if plot is not None]


__all__ = ["Styles", "drawn", "grids", "styles"]
