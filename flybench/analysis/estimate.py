"""Estimates of the decoding time of a sweep's cells, from earlier measurements.

Loading and scoring are not included. Every estimate names its source, and a cell without a
measurement has no estimate.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from flybench.analysis.latency.costs import plain_round_s, read_costs
from flybench.analysis.latency.projection import newest
from flybench.config import BASELINES, MethodConfig
from flybench.core.errors import FlybenchError
from flybench.decode import AR
from flybench.records.folder import RunFolder
from flybench.run.grouping import groups
from flybench.run.plan import Plan
from flybench.run.provenance import model_facts
from flybench.run.runner import pending

# From the most to the least reliable source.
SOURCES = {
    "nothing left": "every answer is recorded",
    "own answers": "the mean over the answers that this cell has already recorded",
    "other runs": "the mean over runs of the same model, method, task and machine in `out`",
    "AR's answers": "AR's mean, for a method without measurements",
    "latency": "maximum-length answers at AR's step cost from the newest `flybench latency`",
    "unknown": "no measurement found: run with limit=2 or run `flybench latency` first",
}


class TimeEstimate(NamedTuple):
    """Seconds of decoding, None if unknown, and the least reliable of their sources."""

    seconds: float | None
    source: str


def estimates(plans: Mapping[int, Plan]) -> dict[int, TimeEstimate]:
    """Return the estimate of each cell by number.

    Answers that grouped cells share count for the first of them.
    """
    history = History()
    return {
        number: history.cell(plans[number], methods)
        for group in groups(plans)
        for number, methods in _remaining({n: plans[n] for n in group}).items()
    }


def _remaining(group: Mapping[int, Plan]) -> dict[int, Counter[MethodConfig]]:
    """Return the number of remaining answers of each cell of a group, by method."""
    counts: list[Counter[MethodConfig]] = [Counter() for _ in group]
    try:
        todo = pending(list(group.values()))
    except FlybenchError:  # the run reports damaged records
        todo = []
    for asked in todo:
        seen: set[MethodConfig] = set()
        for index, methods in asked.missing.items():
            counts[index].update(set(methods) - seen)
            seen |= set(methods)
    return dict(zip(group, counts, strict=True))


class History:
    """Earlier measurements; every folder is read once."""

    def __init__(self) -> None:
        self._means = cache(_means)

    def cell(self, plan: Plan, remaining: Counter[MethodConfig]) -> TimeEstimate:
        """Return the estimate of the `remaining` number of answers of each method."""
        each = {method: self.answer(plan, method) for method in remaining}
        sources = ["nothing left", *(source for _, source in each.values())]
        weakest = max(sources, key=list(SOURCES).index)
        if weakest == "unknown":
            return TimeEstimate(None, weakest)
        return TimeEstimate(sum((each[m].seconds or 0) * n for m, n in remaining.items()), weakest)

    def answer(self, plan: Plan, method: MethodConfig) -> TimeEstimate:
        """Return the estimate of one answer of a method."""
        own = self._means(plan.folder.path).get(method.name)
        if own is not None:
            return TimeEstimate(own, "own answers")
        for name, source in ((method.name, "other runs"), (AR.name, "AR's answers")):
            if seconds := self._elsewhere(plan, name):
                return TimeEstimate(mean(seconds), source)
        step = _step(plan)
        if step is None:
            return TimeEstimate(None, "unknown")
        longest = mean(p.max_new_tokens * (1 + len(p.followups)) for p in plan.prompts)
        return TimeEstimate(step * longest, "latency")

    def _elsewhere(self, plan: Plan, method: str) -> list[float]:
        """Return the mean seconds of an answer in each comparable run."""
        wanted = _conditions(model_facts(plan) | _asked(plan), method)
        means = []
        for file in sorted(plan.folder.path.parent.glob("*/provenance.json")):
            try:
                known = RunFolder(file.parent).provenance()
                if _conditions(known, method) == wanted:
                    means.append(self._means(file.parent).get(method))
            except (FlybenchError, KeyError):
                continue  # a damaged run is not an error here
        return [seconds for seconds in means if seconds is not None]


def _asked(plan: Plan) -> dict[str, Any]:
    asked = {"task_config": asdict(plan.config.task), "sampling": asdict(plan.config.sampling)}
    plain: dict[str, Any] = json.loads(json.dumps(asked))
    return plain | {"data_sha256": plan.task.data_sha256}


def _conditions(known: dict[str, Any], method: str) -> list[Any]:
    """Return the facts on which the time of an answer depends; AR does not draft."""
    roles = ["target"] if method in BASELINES else ["target", "draft", "head"]
    files = [(known["models"][role] or {}).get("files") for role in roles]
    asked = [known["task_config"] | {"description": ""}, known["sampling"] | {"name": ""}]
    return [*files, *asked, *(known[name] for name in ("device", "engine", "data_sha256"))]


def _means(folder: Path) -> dict[str, float]:
    """Return the mean seconds of an answer in a run's folder, by method."""
    times: dict[str, list[float]] = {}
    try:
        for record in RunFolder(folder).records().values():
            if record.error is None:
                whole = sum(turn.total_s for turn in record.turns)
                times.setdefault(record.method, []).append(whole)
    except FlybenchError:
        return {}
    return {method: mean(seconds) for method, seconds in times.items()}


def _step(plan: Plan) -> float | None:
    """Return the seconds of a round of AR from the newest `flybench latency`; None without one."""
    file = newest(plan.folder.path.parent, model_facts(plan), plan.config.engine.dtype)
    result = None if file is None else read_costs(file)
    return None if result is None or result["verdicts"] is None else plain_round_s(result)
