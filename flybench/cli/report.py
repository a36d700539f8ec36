"""`flybench report RUN… [--out FOLDER]`."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path

from flybench.cli.arguments import Parser
from flybench.records.folder import RunFolder
from flybench.report import write_report


def report_command(arguments: Sequence[str]) -> int:
    """Write the page, its markdown twin and tables for papers, and say where."""
    parser = Parser("report")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(list(arguments))
    folders = RunFolder.all_existing(asked.runs)
    out = asked.out or Path("reports") / folders[0].path.resolve().name
    # Millions of rounds without a cycle among them, which the collector would search all the time.
    gc.disable()
    try:
        print(write_report(folders, out))
    finally:
        gc.enable()
    return 0
