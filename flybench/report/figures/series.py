"""Line styles of methods: one hue, marker and line each, the same in all figures of a page."""

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
# More lines than this in one figure cannot be distinguished.
OVERLAID = 8


class Series(NamedTuple):
    """Line style of one method; `hue` is the name of a colour in the theme."""

    label: str
    hue: str
    marker: str
    line: str

    def mark(self, theme: Theme) -> dict[str, Any]:
        """Return matplotlib keywords for a marker."""
        return {"color": theme[self.hue], "marker": self.marker, "label": self.label}

    def stroke(self, theme: Theme) -> dict[str, Any]:
        """Return matplotlib keywords for a line."""
        return {"color": theme[self.hue], "linestyle": self.line, "label": self.label}


Styles = dict[Arm, Series]
BASE = Series("ar", "grey", "o", "-")


def styles(groups: Sequence[Group]) -> Styles:
    """Return the style of every arm; compared arms of one name share a style on all tasks."""
    chosen = {
        arm: BASE._replace(label=one_line(group.names[arm], 36))
        for group in groups
        for arm in group.baselines
    }
    indices: dict[str, int] = {}
    for group in groups:
        for arm in group.compared:
            name = group.names[arm]
            index = indices.setdefault(name, len(indices))
            chosen[arm] = Series(
                one_line(name, 36),
                HUES[index % len(HUES)],
                MARKERS[index % len(MARKERS)],
                LINES[index // len(HUES) % len(LINES)],
            )
    return chosen


def overlaid(arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms to overlay, in order: all, or the `OVERLAID` fastest to answer."""
    all_ = list(arms)
    fastest = sorted(all_, key=lambda arm: -(arm.row.speedup_latency or 0))[:OVERLAID]
    return [arm for arm in all_ if arm in fastest]


def left_out(arms: Sequence[Arm], drawn: Sequence[Arm]) -> str:
    """Return a caption sentence on arms that are not drawn; empty if all are."""
    if len(drawn) == len(arms):
        return ""
    return f" Only the {len(drawn)} fastest of {len(arms)} methods are shown."
