"""Figures as SVG and PNG; the only module that imports matplotlib.

A figure is drawn once and saved as SVG for light pages and as PNG for markdown. The SVG for dark
pages is the light one with its colours replaced. The colours can be distinguished by colour-blind
readers (Okabe and Ito's hues, darker on white) and in greyscale. All colours within a theme differ,
which makes the replacement unique.
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
    """A drawn figure; `name` is its file name without extension, `alt` its text alternative."""

    name: str
    alt: str
    caption: str
    light: str
    dark: str
    png: bytes


def plot(
    name: str, alt: str, caption: str, draw: Draw, width: float = 4.7, height: float = 3.1
) -> Plot:
    """Draw one figure in all formats; sizes are in inches."""
    return panels(name, alt, caption, (draw,), width, height)


def panels(
    name: str, alt: str, caption: str, draws: Sequence[Draw], width: float, height: float
) -> Plot:
    """Draw panels side by side with a shared vertical axis, in all formats; sizes are in inches."""
    svg, image = _render(draws, ("svg", "png"), width, height)
    drawn = svg.decode()
    return Plot(name, alt, caption, _address(drawn), _address(darkened(drawn)), image)


def png(draws: Sequence[Draw], width: float, height: float) -> bytes:
    """Draw panels side by side with a shared vertical axis as PNG; sizes are in inches."""
    return _render(draws, ("png",), width, height)[0]


def darkened(svg: str) -> str:
    """Replace the colours of the light theme by those of the dark theme."""
    dark = {LIGHT[role]: DARK[role] for role in LIGHT}
    return re.sub("|".join(dark), lambda match: dark[match[0]], svg)


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
        figure.set_layout_engine("none")  # one layout for all formats
        return [_saved(figure, kind) for kind in kinds]


def _saved(figure: Figure, kind: str) -> bytes:
    stream = io.BytesIO()
    background = "none" if kind == "svg" else LIGHT["page"]
    # Without a date the same run produces the same file.
    metadata = {"Date": None} if kind == "svg" else {}
    figure.savefig(stream, format=kind, dpi=160, facecolor=background, metadata=metadata)
    return stream.getvalue()


def legend_below(axes: Axes, columns: int = 1) -> None:
    """Add the legend below the axes."""
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes without a figure have no legend"
    figure.legend(loc="outside lower left", ncols=columns)


def log_scales(axes: Axes, across: Sequence[int]) -> None:
    """Set logarithmic axes with plain tick labels: `across` horizontally, 1, 2, 5, … vertically."""
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
        "text.parse_math": False,  # names may contain dollar signs
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
