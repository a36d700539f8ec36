"""How methods look in figures: one hue, mark and line each, the same in every figure of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from flybench.report.group import Group
from flybench.report.plot import Theme
from flybench.report.run import Arm
from flybench.text import one_line

HUES = ("blue", "orange", "green", "purple", "red", "grey")
MARKERS = "osD^vP*X"
LINES = ("-", "--", ":", "-.")
# More lines than this in one figure are not told apart.
OVERLAID = 8


class Series(NamedTuple):
    """The look of one method; `hue` is a colour's role in the theme."""

    label: str
    hue: str
    marker: str
    line: str

    def mark(self, theme: Theme) -> dict[str, Any]:
        """Keywords for a marked point."""
        return {"color": theme[self.hue], "marker": self.marker, "label": self.label}

    def stroke(self, theme: Theme) -> dict[str, Any]:
        """Keywords for a line."""
        return {"color": theme[self.hue], "linestyle": self.line, "label": self.label}


Looks = dict[Arm, Series]
BASE = Series("ar", "grey", "o", "-")


def looks(groups: Sequence[Group]) -> Looks:
    """A look for every arm; compared arms of one name look alike on every task."""
    found = {
        arm: BASE._replace(label=one_line(group.names[arm], 36))
        for group in groups
        for arm in group.baselines
    }
    places: dict[str, int] = {}
    for group in groups:
        for arm in group.compared:
            name = group.names[arm]
            index = places.setdefault(name, len(places))
            found[arm] = Series(
                one_line(name, 36),
                HUES[index % len(HUES)],
                MARKERS[index % len(MARKERS)],
                LINES[index // len(HUES) % len(LINES)],
            )
    return found


def overlaid(arms: Iterable[Arm]) -> list[Arm]:
    """The arms to draw over each other: all, or of many the fastest to answer, in their order."""
    all_ = list(arms)
    fastest = sorted(all_, key=lambda arm: -(arm.row.speedup_latency or 0))[:OVERLAID]
    return [arm for arm in all_ if arm in fastest]


def left_out(arms: Sequence[Arm], drawn: Sequence[Arm]) -> str:
    """A sentence for a caption on arms that are not drawn; empty if all are."""
    if len(drawn) == len(arms):
        return ""
    return f" Drawn are the {len(drawn)} fastest to answer of {len(arms)}."
