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

from flybench.assessment import assess, judge_failures
from flybench.checks import explain
from flybench.config import JudgeConfig, RunConfig
from flybench.core import FlybenchError
from flybench.engine.placement import use_threads
from flybench.judge import build_judge
from flybench.judge.base import Judge
from flybench.machinery import Weights
from flybench.plan import Plan, make_plan
from flybench.provenance import open_folder
from flybench.ranks import from_leader, join, rank
from flybench.records import RunFolder
from flybench.report.headline import headline
from flybench.report.together import together
from flybench.run import Asked, Loaded, generate, pending
from flybench.tokens import write_pieces

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
        self._judge: tuple[JudgeConfig, Judge] | None = None

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
                write_pieces(plan.folder, plan.chat.spell)
                rows = assess(plan.folder, config, self._judge_of(config.judge))
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
        return 1 if failed or judge_failures(rows) else 0

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
            self._let_go()
            same = [p for p in self._plans if isinstance(p, Plan) and wanted.serve(p.weights)]
            longest = max(each.max_length for each in same)
            self._loaded = wanted, Loaded.of(plan, longest)
        return self._loaded[1]

    def _judge_of(self, config: JudgeConfig) -> Judge | None:
        """The judge of a cell, kept for the next one; a local one has the memory to itself."""
        if config.kind == "none":
            return None
        if self._judge is None or self._judge[0] != config:
            if config.kind == "local":
                self._let_go()
            self._judge = config, build_judge(config)
        return self._judge[1]

    def _let_go(self) -> None:
        """Free the memory of every model."""
        self._loaded = self._judge = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _planned(config: RunConfig) -> Plan | Exception:
    try:
        return make_plan(config)
    except Exception as error:  # told when it is this cell's turn
        return error
