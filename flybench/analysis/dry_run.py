"""`flybench run|tune --dry-run`: print one line for each cell that would run, and load no weights.

The data and tokenizers of cells that this machine can run are read, because the folder name
depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tqdm import tqdm

from flybench.analysis.estimate import SOURCES, TimeEstimate, estimates
from flybench.config import RunConfig
from flybench.config.checks import explain
from flybench.core.errors import FlybenchError
from flybench.engine.cost.sizes import Sizes, draft_sizes, head_sizes, target_sizes
from flybench.report.findings.badge import count
from flybench.run.plan import Plan, make_plans
from flybench.run.runner import pending
from flybench.text import NONE, aligned

GB = 1e9
TITLES = (
    *("model", "method", "settings", "task", "samples done", "weights", "caches"),
    *("time", "time from", "folder"),
)


class DryRunRow(NamedTuple):
    """A row of the table, and the memory of the cell in bytes, None if unknown."""

    cells: tuple[str, ...]
    memory: int | None


def dry_run(configs: Sequence[RunConfig]) -> None:
    """Print a table of `configs`, and the reasons why some of them cannot run here."""
    plans = make_plans(configs)
    valid = {number: plan for number, plan in enumerate(plans) if isinstance(plan, Plan)}
    times = estimates(valid)
    reasons = list(dict.fromkeys(explain(plan) for plan in plans if isinstance(plan, Exception)))
    rows = [
        _row(config, plan, times.get(number), reasons)
        for number, (config, plan) in enumerate(zip(configs, plans, strict=True))
    ]
    print(aligned([TITLES, *(row.cells for row in rows)], left=len(TITLES)))
    for number, reason in enumerate(reasons, 1):
        print(f"  cannot run here [{number}]: {reason}")
    print(_total(rows, list(times.values())))
    used = {estimate.source for estimate in times.values()}
    for source, meaning in SOURCES.items():
        if source in used:
            print(f"  {source}: {meaning}.")


def _row(
    config: RunConfig, plan: Plan | Exception, estimate: TimeEstimate | None, reasons: Sequence[str]
) -> DryRunRow:
    model, method = config.model, config.method
    target, drafter = _sizes(config)
    parts = [target.weights, *([] if drafter is None else [drafter.weights])]
    tokens = [target.cache, *([] if drafter is None else [drafter.cache])]
    cached = None if isinstance(plan, Exception) or None in tokens else sum(t or 0 for t in tokens)
    caches = None if cached is None or isinstance(plan, Exception) else cached * plan.max_length
    known = [*parts, caches]
    time = ("?", "")
    if estimate is not None:
        seconds = estimate.seconds
        time = (NONE if seconds is None else tqdm.format_interval(seconds), estimate.source)
    if isinstance(plan, Exception):
        folder = f"cannot run here [{reasons.index(explain(plan)) + 1}]"
    else:
        folder = str(plan.folder.path)
    return DryRunRow(
        (
            *(model.name, method.name, f"{method.settings} {config.sampling.name}".strip()),
            *(config.task.name, _done(plan)),
            *(f"{' + '.join(map(_gigabytes, parts))} GB", f"{_gigabytes(caches)} GB"),
            *(*time, folder),
        ),
        None if None in known else sum(each or 0 for each in known),
    )


def _sizes(config: RunConfig) -> tuple[Sizes, Sizes | None]:
    """Return the sizes of the target and of its drafter, if that is a model."""
    model, method, engine = config.model, config.method, config.engine

    def known(size: Any, of: Any) -> Sizes:
        try:
            sizes: Sizes = size(of, engine)
        except FlybenchError:  # the column of the folder has the reason
            sizes = Sizes(None, None)
        return sizes

    target = known(target_sizes, model.target)
    if method.needs_head:
        return target, known(head_sizes, model)
    return target, known(draft_sizes, model) if method.needs_draft_model else None


def _done(plan: Plan | Exception) -> str:
    if isinstance(plan, Exception):
        return "?"
    try:
        done = len(plan.prompts) - len(pending([plan]))
    except FlybenchError as error:
        return f"? ({explain(error)})"
    return f"{done} of {len(plan.prompts)}"


def _gigabytes(size: int | None) -> str:
    return "?" if size is None else f"{size / GB:.3g}"


def _total(rows: Sequence[DryRunRow], times: Sequence[TimeEstimate]) -> str:
    known = [each.seconds for each in times if each.seconds is not None]
    total = tqdm.format_interval(sum(known)) if known else "unknown"
    if known and len(known) < len(rows):
        total += f" for the {len(known)} whose time is known"
    sizes = [row.memory for row in rows if row.memory is not None]
    most = f"{_gigabytes(max(sizes))} GB" if sizes else "unknown"
    runs = count(len(rows), "run")
    return f"{runs}; time to decode: {total}; weights and caches of the largest: {most}"
