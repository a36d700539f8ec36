"""How long the cells of a sweep will take to decode, from what was measured before.

Loading and scoring come on top. Every estimate says what it rests on; without a measurement there
is none.
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

# From the best source to none.
SOURCES = {
    "nothing left": "every answer is there",
    "own answers": "the mean of the answers that the cell has",
    "other runs": "the mean of the same model, method, task and machine in the folder of results",
    "AR's answers": "AR's mean, for a method that was not measured yet",
    "latency": "answers of full length, at AR's cost of a step in the newest `flybench latency`",
    "unknown": "nothing was measured here: limit=2 first, or `flybench latency`, would tell",
}


class Estimate(NamedTuple):
    """Seconds of decoding, None if unknown, and the weakest of the sources that they rest on."""

    seconds: float | None
    source: str


def estimates(plans: Mapping[int, Plan]) -> dict[int, Estimate]:
    """What each cell adds, by number; what cells side by side share is the first one's."""
    history = History()
    return {
        number: history.cell(plans[number], methods)
        for group in groups(plans)
        for number, methods in _ahead({n: plans[n] for n in group}).items()
    }


def _ahead(group: Mapping[int, Plan]) -> dict[int, Counter[MethodConfig]]:
    """How many answers each cell of a group adds, by method."""
    found: list[Counter[MethodConfig]] = [Counter() for _ in group]
    try:
        todo = pending(list(group.values()))
    except FlybenchError:  # its own turn will say what is wrong with its records
        todo = []
    for asked in todo:
        seen: set[MethodConfig] = set()
        for index, methods in asked.missing.items():
            found[index].update(set(methods) - seen)
            seen |= set(methods)
    return dict(zip(group, found, strict=True))


class History:
    """What was measured before; every folder is read once."""

    def __init__(self) -> None:
        self._means = cache(_means)

    def cell(self, plan: Plan, ahead: Counter[MethodConfig]) -> Estimate:
        """So many answers of each method."""
        each = {method: self.answer(plan, method) for method in ahead}
        sources = ["nothing left", *(source for _, source in each.values())]
        weakest = max(sources, key=list(SOURCES).index)
        if weakest == "unknown":
            return Estimate(None, weakest)
        return Estimate(sum((each[m].seconds or 0) * n for m, n in ahead.items()), weakest)

    def answer(self, plan: Plan, method: MethodConfig) -> Estimate:
        """One answer of a method."""
        own = self._means(plan.folder.path).get(method.name)
        if own is not None:
            return Estimate(own, "own answers")
        for name, source in ((method.name, "other runs"), (AR.name, "AR's answers")):
            if found := self._elsewhere(plan, name):
                return Estimate(mean(found), source)
        step = _step(plan)
        if step is None:
            return Estimate(None, "unknown")
        longest = mean(p.max_new_tokens * (1 + len(p.followups)) for p in plan.prompts)
        return Estimate(step * longest, "latency")

    def _elsewhere(self, plan: Plan, method: str) -> list[float]:
        """Mean seconds of an answer in each run like this one."""
        wanted = _alike(model_facts(plan) | _asked(plan), method)
        found = []
        for file in sorted(plan.folder.path.parent.glob("*/provenance.json")):
            try:
                known = RunFolder(file.parent).provenance()
                if _alike(known, method) == wanted:
                    found.append(self._means(file.parent).get(method))
            except (FlybenchError, KeyError):
                continue  # one that nobody asked for
        return [seconds for seconds in found if seconds is not None]


def _asked(plan: Plan) -> dict[str, Any]:
    asked = {"task_config": asdict(plan.config.task), "sampling": asdict(plan.config.sampling)}
    plain: dict[str, Any] = json.loads(json.dumps(asked))
    return plain | {"data_sha256": plan.task.data_sha256}


def _alike(known: dict[str, Any], method: str) -> list[Any]:
    """What runs must have in common for one's time to be the other's; AR does not draft."""
    roles = ["target"] if method in BASELINES else ["target", "draft", "head"]
    files = [(known["models"][role] or {}).get("files") for role in roles]
    asked = [known["task_config"] | {"description": ""}, known["sampling"] | {"name": ""}]
    return [*files, *asked, *(known[name] for name in ("device", "engine", "data_sha256"))]


def _means(folder: Path) -> dict[str, float]:
    """Mean seconds of an answer in a run's folder, by method."""
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
    """Seconds of a round of AR as measured apart from any run, if it was."""
    file = newest(plan.folder.path.parent, model_facts(plan), plan.config.engine.dtype)
    result = None if file is None else read_costs(file)
    return None if result is None or result["verdicts"] is None else plain_round_s(result)
