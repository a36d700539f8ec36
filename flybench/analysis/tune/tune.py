"""Implementation of `flybench tune`: record, replay, confirm and recommend."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from flybench.analysis.dry_run import dry_run
from flybench.analysis.tune.cells import CellRunner
from flybench.analysis.tune.confirm import confirm
from flybench.analysis.tune.page import page
from flybench.analysis.tune.prepare import Prepared
from flybench.analysis.tune.recommendation import recommend
from flybench.analysis.tune.search import recordings, search
from flybench.analysis.tune.tables import confirmed, projected
from flybench.analysis.tune.write import CONF, write_evidence, write_method
from flybench.config import RunConfig
from flybench.report.findings.badge import count

log = logging.getLogger(__name__)

RESOLVED, FAILED, OPEN = 0, 1, 3


def show_plan(ready: Prepared) -> int:
    """Print the runs that a tuning would record, and the number of settings it would confirm."""
    dry_run(_recorded(ready))
    print(
        f"From these, {count(len(ready.methods), 'setting')} would be replayed; the fastest exact "
        f"one and up to {count(ready.settings.confirm, 'loose one')} would then run on "
        f"{count(ready.second.limit or 0, 'other sample')}."
    )
    return RESOLVED


def tune(ready: Prepared, arguments: Sequence[str]) -> int:
    """Record, replay and confirm; `arguments` are written to the report as provenance.

    Returns the exit code: 0 if a setting is recommended and no loose one may be better, 3 if that
    is not resolved, 1 if samples failed.
    """
    settings, folder = ready.settings, ready.folder
    latency = ready.costs()
    runs = CellRunner(["flybench", "tune", *arguments])

    log.info(f"1/3 Recording {ready.first.limit} samples, from which every setting is replayed.")
    recorded = runs.run(_recorded(ready))
    found = search(recorded, ready.methods, latency, settings.confirm)
    log.info(f"2/3 Replayed {len(ready.methods)} settings; projected Pareto front:\n")
    print(projected(found.table))

    chosen = count(1 + len(found.loose), "setting")
    log.info(f"\n3/3 Confirming {chosen} on up to {ready.second.limit} other samples.")
    results = confirm(runs, ready.second, found.exact, found.loose, settings.looks)
    decided = recommend(results, ready.config.retention_margin)
    write_method(folder, decided, ready.config)
    text = page(ready, arguments, found, results, decided, latency)
    write_evidence(folder, found, results, text)
    print("\n".join([confirmed(found, results), "", *decided.sentences, "", str(folder.path)]))
    if decided.method is not None:
        log.info(f"Use it: flybench run --config-dir {folder.path}/conf method=tuned …  ({CONF})")
    if runs.failed:
        return FAILED
    return RESOLVED if decided.resolved else OPEN


def _recorded(ready: Prepared) -> list[RunConfig]:
    """Return the runs whose drafts are replayed."""
    drafters = recordings(ready.settings, ready.config.method)
    return [replace(ready.first, method=each) for each in drafters]
