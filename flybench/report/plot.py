"""One drawn figure in the forms that the report needs; the only module that imports matplotlib.

A figure is drawn for light pages, for dark pages and, as PNG, for markdown. The colours stay apart
for colour-blind readers (Okabe and Ito's hues, darker on white) and in grey.
"""

from __future__ import annotations

import base64
import io
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
}
DARK: Theme = {
    **{"ink": "#e3e6ea", "soft": "#a2abb5", "grid": "#3a414a", "page": "#15181c"},
    **{"blue": "#56b4e9", "orange": "#e69f00", "red": "#f08a4b", "grey": "#7d8792"},
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
    """Draw with `draw` on fresh axes, once for each form; inches."""

    light, dark = (
        f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
        for svg in (_render((draw,), theme, "svg", width, height) for theme in (LIGHT, DARK))
    )
    return Plot(name, alt, caption, light, dark, png((draw,), width, height))


def png(panels: Sequence[Draw], width: float, height: float) -> bytes:
    """Panels side by side on one vertical axis, as a PNG for light pages; inches."""
    return _render(panels, LIGHT, "png", width, height)


def _render(panels: Sequence[Draw], theme: Theme, kind: str, width: float, height: float) -> bytes:
    with warnings.catch_warnings(), rc_context(_style(theme)):
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for draw, each in zip(panels, axes, strict=True):
            draw(each, theme)
        stream = io.BytesIO()
        background = "none" if kind == "svg" else theme["page"]
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
