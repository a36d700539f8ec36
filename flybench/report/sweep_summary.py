"""Results over several runs, as text printed at the end of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

from flybench.records.folder import RunFolder
from flybench.report.run import load
from flybench.report.tables import across
from flybench.report.tables.table import plain


def sweep_summary(folders: Sequence[RunFolder]) -> str:
    """Format the corrected accuracy tests and the spread over seeds; empty for a single run."""
    if len(folders) < 2:
        return ""
    runs = load(folders)
    tests = across.accuracy_tests(runs)
    tables = [*([tests] if tests else []), *across.tables(runs)]
    return "\n\n".join([*map(plain, tables), *across.notes(runs)])
