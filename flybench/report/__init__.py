"""Report on run folders as a web page: `flybench report RUN… --out FOLDER`.

run.py loads runs, and group.py groups them by task and model. findings/ builds the sentences,
tables/ the tables and figures/ the plots. page.py assembles the contents, rendering.py renders
them, and tables/export.py writes tables for papers. The report depends only on the files in the
folders.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flybench.core.errors import FlybenchError
from flybench.records.folder import RunFolder


def write_report(runs: Sequence[RunFolder], out: Path) -> Path:
    """Write the self-contained `index.html`, `report.md` with `figures/`, and `tables/` as CSV and
    LaTeX.

    Returns:
        The path of `index.html`.

    Raises:
        FlybenchError: `runs` is empty, or a file of a run cannot be read.
    """
    if not runs:
        raise FlybenchError("No runs to report: pass at least one run folder from results/.")
    from flybench.report import rendering
    from flybench.report.page import page
    from flybench.report.run import load
    from flybench.report.tables.export import to_csv, to_latex

    content = page(load(runs))
    figures, tables = out / "figures", out / "tables"
    for folder in (figures, tables):
        folder.mkdir(parents=True, exist_ok=True)
    for plot in content.plots:
        (figures / f"{plot.name}.png").write_bytes(plot.png)
    for name, table in content.papers.items():
        (tables / f"{name}.csv").write_text(to_csv(table), encoding="utf-8")
        (tables / f"{name}.tex").write_text(to_latex(table), encoding="utf-8")
    (out / "report.md").write_text(rendering.text(content), encoding="utf-8")
    index = out / "index.html"
    index.write_text(rendering.html(content), encoding="utf-8")
    return index
