"""From run folders to a page: `flybench report RUN… --out FOLDER`.

run.py reads, and group.py puts together what asked one task of one model; findings/ puts in words,
tables/ in rows and figures/ draws; page.py orders, layout.py lays out, and tables/files.py writes
tables for papers. Everything shown is a function of the folders' files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flybench.core.errors import FlybenchError
from flybench.records.folder import RunFolder


def write_report(runs: Sequence[RunFolder], out: Path) -> Path:
    """Write `index.html`, one file that needs nothing else, `report.md` with its `figures/`, and
    `tables/` as CSV and LaTeX.

    Returns:
        The path of `index.html`.

    Raises:
        FlybenchError: there is no run, or a file of a run cannot be read.
    """
    if not runs:
        raise FlybenchError("There is no run to report: give at least one folder of results/.")
    from flybench.report import layout
    from flybench.report.page import page
    from flybench.report.run import load
    from flybench.report.tables.files import to_csv, to_latex

    content = page(load(runs))
    figures, tables = out / "figures", out / "tables"
    for folder in (figures, tables):
        folder.mkdir(parents=True, exist_ok=True)
    for plot in content.plots:
        (figures / f"{plot.name}.png").write_bytes(plot.png)
    for name, table in content.papers.items():
        (tables / f"{name}.csv").write_text(to_csv(table), encoding="utf-8")
        (tables / f"{name}.tex").write_text(to_latex(table), encoding="utf-8")
    (out / "report.md").write_text(layout.text(content), encoding="utf-8")
    index = out / "index.html"
    index.write_text(layout.html(content), encoding="utf-8")
    return index
