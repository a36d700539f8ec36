"""`flybench run|tune --dry-run`: the cells that would run, a line each, without a weight loaded.

Data and tokenizers are read where the machine could run the cell, since they decide its folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tqdm import tqdm

from flybench.analysis.estimate import SOURCES, Estimate, estimates
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
    *("model", "method", "settings", "task", "samples there", "weights", "caches"),
    *("time", "time from", "folder"),
)


class Shown(NamedTuple):
    """A line of the table, and the bytes that its cell takes, None if unknown."""

    cells: tuple[str, ...]
    memory: int | None


def dry_run(configs: Sequence[RunConfig]) -> None:
    """Print the table of `configs`, and below it why some cannot run here."""
    plans = make_plans(configs)
    sound = {number: plan for number, plan in enumerate(plans) if isinstance(plan, Plan)}
    times = estimates(sound)
    reasons = list(dict.fromkeys(explain(plan) for plan in plans if isinstance(plan, Exception)))
    lines = [
        _line(config, plan, times.get(number), reasons)
        for number, (config, plan) in enumerate(zip(configs, plans, strict=True))
    ]
    print(aligned([TITLES, *(line.cells for line in lines)], left=len(TITLES)))
    for number, reason in enumerate(reasons, 1):
        print(f"  not here [{number}]: {reason}")
    print(_total(lines, list(times.values())))
    used = {estimate.source for estimate in times.values()}
    for source, meaning in SOURCES.items():
        if source in used:
            print(f"  {source}: {meaning}.")


def _line(
    config: RunConfig, plan: Plan | Exception, estimate: Estimate | None, reasons: Sequence[str]
) -> Shown:
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
        place = f"not here [{reasons.index(explain(plan)) + 1}]"
    else:
        place = str(plan.folder.path)
    return Shown(
        (
            *(model.name, method.name, f"{method.settings} {config.sampling.name}".strip()),
            *(config.task.name, _there(plan)),
            *(f"{' + '.join(map(_gigabytes, parts))} GB", f"{_gigabytes(caches)} GB"),
            *(*time, place),
        ),
        None if None in known else sum(each or 0 for each in known),
    )


def _sizes(config: RunConfig) -> tuple[Sizes, Sizes | None]:
    """The target and what drafts for it, if anything."""
    model, method, engine = config.model, config.method, config.engine

    def known(size: Any, of: Any) -> Sizes:
        try:
            found: Sizes = size(of, engine)
        except FlybenchError:  # the folder's place says what cannot be found
            found = Sizes(None, None)
        return found

    target = known(target_sizes, model.target)
    if method.needs_head:
        return target, known(head_sizes, model)
    return target, known(draft_sizes, model) if method.needs_draft_model else None


def _there(plan: Plan | Exception) -> str:
    if isinstance(plan, Exception):
        return "?"
    try:
        done = len(plan.prompts) - len(pending([plan]))
    except FlybenchError as error:
        return f"? ({explain(error)})"
    return f"{done} of {len(plan.prompts)}"


def _gigabytes(size: int | None) -> str:
    return "?" if size is None else f"{size / GB:.3g}"


def _total(lines: Sequence[Shown], times: Sequence[Estimate]) -> str:
    known = [each.seconds for each in times if each.seconds is not None]
    told = tqdm.format_interval(sum(known)) if known else "unknown"
    if known and len(known) < len(lines):
        told += f" for the {len(known)} whose time is known"
    sizes = [line.memory for line in lines if line.memory is not None]
    most = f"{_gigabytes(max(sizes))} GB" if sizes else "unknown"
    runs = count(len(lines), "run")
    return f"{runs}; time to decode: {told}; weights and caches of the largest: {most}"
