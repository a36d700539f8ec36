"""From run folders to a page: `flybench report RUN… --out FOLDER`.

run.py reads; verdict.py, notes.py and costs.py put in words; tables.py, samples.py, cards.py and
provenance.py put in rows; figures.py draws; page.py lays out. Everything shown is a function of
the folders' files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flybench.core import FlybenchError
from flybench.records import RunFolder


def write_report(runs: Sequence[RunFolder], out: Path) -> Path:
    """Write `index.html`, one file that needs nothing else, `report.md` and its `figures/`.

    Returns:
        The path of `index.html`.

    Raises:
        FlybenchError: there is no run, or a file of a run cannot be read.
    """
    if not runs:
        raise FlybenchError("There is no run to report: give at least one folder of results/.")
    from flybench.report import page
    from flybench.report.run import load

    content = page.page(load(runs))
    figures = out / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for plot in content.plots:
        (figures / f"{plot.name}.png").write_bytes(plot.png)
    (out / "report.md").write_text(page.text(content), encoding="utf-8")
    index = out / "index.html"
    index.write_text(page.html(content), encoding="utf-8")
    return index
