"""The cells of one `flybench run`, so that nothing is loaded or measured twice.

Cells that differ in their method alone are decoded side by side: every sample by AR once, and by
each method. The first of them decodes for all, and the others find their answers there. A pair of
models stays loaded for as long as the cells that follow want it.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import torch

from flybench.checks import explain
from flybench.config import RunConfig
from flybench.core import FlybenchError
from flybench.engine.placement import use_threads
from flybench.plan import Plan, Weights, make_plan
from flybench.provenance import open_folder
from flybench.ranks import from_leader, join, rank
from flybench.records import RunFolder
from flybench.report.headline import headline
from flybench.report.together import together
from flybench.run import Asked, Loaded, generate, pending
from flybench.scoring import score_run
from flybench.summary import Row, write_summary
from flybench.tasks import build_task

Job = tuple[list[int], list[Asked]]
"""Numbers of the cells that are decoded side by side, and their samples."""
NOTHING: Job = ([], [])


class Sweep:
    """Runs cells, one after another; `argv` is the command as provenance keeps it."""

    def __init__(self, configs: Sequence[RunConfig], argv: Sequence[str]) -> None:
        self._configs = list(configs)
        self._argv = argv
        self._plans: list[Plan | Exception] = []
        self._decoded: set[int] = set()
        self._loaded: tuple[Weights, Loaded] | None = None
        self._finished: dict[Path, RunFolder] = {}

    def run(self, config: RunConfig) -> int:
        """One cell from checks to summary, as an exit code; an error ends this cell alone."""
        try:
            number = self._number(config)
            plan = self._plans[number]
            if isinstance(plan, Exception):
                raise plan
            use_threads(plan.engine)
            join(plan.device)
            if rank():
                self._follow()
                return 0
            with ExitStack() as held:
                self._lead(number, plan, held)
                rows = judge(plan.folder, config)
        except Exception as error:  # the other cells of a sweep go on
            if os.environ.get("FLYBENCH_DEBUG"):
                raise
            print(f"flybench: {explain(error)}", file=sys.stderr)
            return 2
        self._finished[plan.folder.path] = plan.folder
        print(headline(rows))
        failed = sum(row["n_error"] for row in rows)
        print(f"\n{plan.folder.path}\nReport: flybench report {plan.folder.path}")
        if failed:
            print(f"{failed} sample(s) failed; the same command tries them again.", file=sys.stderr)
        return 1 if failed else 0

    def closing(self) -> str:
        """What only the cells together say, as text; empty where that is nothing."""
        return together(list(self._finished.values()))

    def _number(self, config: RunConfig) -> int:
        """Which cell this is; all are planned before the first one runs."""
        if not self._plans:
            self._plans = [_planned(each) for each in self._configs]
        return self._configs.index(config)

    def _lead(self, number: int, plan: Plan, held: ExitStack) -> None:
        """Decode a cell with those beside it, their folders held, and tell the other ranks."""
        try:
            held.enter_context(plan.folder.exclusive())
            cells = {} if number in self._decoded else {number: plan, **self._others(plan, held)}
            todo = pending(list(cells.values())) if cells else []
            for each in cells.values():
                open_folder(each, self._argv, decodes=bool(todo))
        except Exception:
            from_leader(NOTHING)  # they wait to be told
            raise
        numbers, todo = from_leader((list(cells), todo))
        if len(cells) > 1 and todo:
            names = ", ".join(each.folder.path.name for each in cells.values())
            print(f"Side by side, with one AR for all: {names}.")
        self._decode(list(cells.values()), todo)
        self._decoded |= set(numbers)

    def _follow(self) -> None:
        """Compute a part of what rank 0 decodes; the files of this rank are thrown away."""
        numbers, todo = from_leader(NOTHING)
        with tempfile.TemporaryDirectory() as scratch:
            apart = []
            for number in numbers if todo else []:
                plan = self._plans[number]
                assert isinstance(plan, Plan), "ranks plan alike"
                apart.append(replace(plan, folder=RunFolder(Path(scratch, str(number)))))
                open_folder(apart[-1], [])
            self._decode(apart, todo)

    def _decode(self, plans: list[Plan], todo: list[Asked]) -> None:
        if todo:
            generate(plans, todo, self._load(plans))

    def _others(self, plan: Plan, held: ExitStack) -> dict[int, Plan]:
        """Cells that can be decoded beside this one, by number."""
        found: dict[int, Plan] = {}
        paths = {plan.folder.path}
        for number, other in enumerate(self._plans):
            if number in self._decoded or not isinstance(other, Plan):
                continue
            together = [plan, *found.values()]
            if other.folder.path in paths or not all(each.beside(other) for each in together):
                continue
            try:
                held.enter_context(other.folder.exclusive())
            except FlybenchError:  # another process decodes it; its own turn will say so
                continue
            paths.add(other.folder.path)
            found[number] = other
        return found

    def _load(self, plans: list[Plan]) -> Loaded:
        """What the plans need in memory, which is kept; room for every cell that will want it."""
        plan = max(plans, key=lambda each: each.weights.drafter is not None)
        wanted = plan.weights
        if self._loaded is None or not self._loaded[0].serve(wanted):
            self._loaded = None
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            same = [p for p in self._plans if isinstance(p, Plan) and wanted.serve(p.weights)]
            longest = max(each.max_length for each in same)
            self._loaded = wanted, Loaded.of(plan, longest)
        return self._loaded[1]


def judge(folder: RunFolder, config: RunConfig) -> list[Row]:
    """Score what a run has recorded, and write its summary.

    Raises:
        FlybenchError: the task's data are not those of the run.
    """
    task = build_task(config.task)
    if folder.provenance().get("data_sha256") not in (None, task.data_sha256):
        raise FlybenchError(
            f"The data of task {config.task.name} are not those that {folder.path} was made with: "
            "put these back where they were, or run again with the new ones."
        )
    score_run(folder, task)
    return write_summary(folder)


def _planned(config: RunConfig) -> Plan | Exception:
    try:
        return make_plan(config)
    except Exception as error:  # told when it is this cell's turn
        return error
