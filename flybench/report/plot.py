"""One drawn figure in the forms that the report needs; the only module that imports matplotlib.

A figure is drawn once: as SVG for light pages, with its colours exchanged for dark ones, and as PNG
for markdown. The colours stay apart for colour-blind readers (Okabe and Ito's hues, darker on
white) and in grey. No two of a theme are alike, so that each has one partner in the other.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes as Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

Theme = dict[str, str]
Draw = Callable[[Axes, Theme], None]
LIGHT: Theme = {
    **{"ink": "#24292f", "soft": "#5f6872", "grid": "#d8dde3", "page": "#ffffff"},
    **{"blue": "#0072b2", "orange": "#c77700", "red": "#c2500a", "grey": "#8a929b"},
    **{"green": "#00815e", "purple": "#a4477f"},
}
DARK: Theme = {
    **{"ink": "#e3e6ea", "soft": "#a2abb5", "grid": "#3a414a", "page": "#15181c"},
    **{"blue": "#56b4e9", "orange": "#e69f00", "red": "#f08a4b", "grey": "#7d8792"},
    **{"green": "#3fc59a", "purple": "#dd93bd"},
}


@dataclass(frozen=True)
class Plot:
    """A drawn figure; `name` is a plain file name, `alt` says what it shows."""

    name: str
    alt: str
    caption: str
    light: str
    dark: str
    png: bytes


def plot(
    name: str, alt: str, caption: str, draw: Draw, width: float = 4.7, height: float = 3.1
) -> Plot:
    """Draw with `draw` on fresh axes, for every form; inches."""
    return panels(name, alt, caption, (draw,), width, height)


def panels(
    name: str, alt: str, caption: str, draws: Sequence[Draw], width: float, height: float
) -> Plot:
    """Several axes side by side on one vertical axis, for every form; inches."""
    svg, image = _render(draws, ("svg", "png"), width, height)
    drawn = svg.decode()
    return Plot(name, alt, caption, _address(drawn), _address(darkened(drawn)), image)


def png(draws: Sequence[Draw], width: float, height: float) -> bytes:
    """Panels side by side on one vertical axis, as a PNG for light pages; inches."""
    return _render(draws, ("png",), width, height)[0]


def darkened(svg: str) -> str:
    """A drawing for light pages in the colours of dark ones."""
    partners = {LIGHT[role]: DARK[role] for role in LIGHT}
    return re.sub("|".join(partners), lambda found: partners[found[0]], svg)


def _address(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _render(
    draws: Sequence[Draw], kinds: Sequence[str], width: float, height: float
) -> list[bytes]:
    with warnings.catch_warnings(), rc_context(_style(LIGHT)):
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(1, len(draws), squeeze=False, sharey=True)[0]
        for draw, each in zip(draws, axes, strict=True):
            draw(each, LIGHT)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once for all forms
        return [_saved(figure, kind) for kind in kinds]


def _saved(figure: Figure, kind: str) -> bytes:
    stream = io.BytesIO()
    background = "none" if kind == "svg" else LIGHT["page"]
    # No date, so that the same run gives the same file.
    metadata = {"Date": None} if kind == "svg" else {}
    figure.savefig(stream, format=kind, dpi=160, facecolor=background, metadata=metadata)
    return stream.getvalue()


def legend_below(axes: Axes, columns: int = 1) -> None:
    """Put the legend under the axes, where it covers no data."""
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes without a figure have no legend"
    figure.legend(loc="outside lower left", ncols=columns)


def log_scales(axes: Axes, across: Sequence[int]) -> None:
    """Logarithmic axes with plain numbers: `across` on the horizontal one, 1, 2 and 5 up."""
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(across, [f"{tick:,}" for tick in across])
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.minorticks_off()


def _style(theme: Theme) -> Any:
    ink = ("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor")
    lines = ("axes.edgecolor", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(ink, theme["ink"]),
        **dict.fromkeys(lines, theme["soft"]),
        **{f"axes.spines.{side}": False for side in ("top", "right")},
        "text.parse_math": False,  # a name with two dollar signs is a name
        "svg.hashsalt": "flybench",
        "axes.facecolor": "none",
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": theme["grid"],
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "font.size": 9.5,
        "hatch.color": theme["grey"],
    }
