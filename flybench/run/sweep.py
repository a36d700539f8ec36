"""The cells of one process's `flybench run`, so that nothing is loaded or measured twice.

Cells that differ in their method alone are decoded side by side: every sample by AR once, and by
each method. The first of them decodes for all, and the others find their answers there. A pair of
models stays loaded for as long as the cells that follow want it.
"""

from __future__ import annotations

import gc
import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import torch

from flybench.config import JudgeConfig, RunConfig
from flybench.config.checks import explain
from flybench.core.errors import FlybenchError
from flybench.distributed import from_leader, join, rank
from flybench.engine.loading.placement import use_threads
from flybench.metrics.summary import Row, judge_failures, write_summary
from flybench.records.folder import RunFolder
from flybench.records.token_texts import write_pieces
from flybench.run.grouping import count, partners
from flybench.run.headline import headline
from flybench.run.plan import Plan, planned
from flybench.run.progress import Progress
from flybench.run.provenance import check_code, open_folder
from flybench.run.runner import Asked, generate, pending
from flybench.run.session import Session
from flybench.score.assessment import assess
from flybench.score.judge import build_judge
from flybench.score.judge.base import Judge

log = logging.getLogger(__name__)

Job = tuple[list[int], list[Asked]]
"""Numbers of the cells that are decoded side by side, and their samples."""
NOTHING: Job = ([], [])


def tell(plan: Plan, rows: list[Row]) -> None:
    """Print what became of a cell."""
    print(headline(rows))
    print(f"\n{plan.folder.path}\nReport: flybench report {plan.folder.path}")


class Sweep:
    """Runs cells; `argv` is the command as provenance keeps it, `tell` shows each finished cell."""

    def __init__(
        self,
        configs: Sequence[RunConfig],
        argv: Sequence[str],
        plain: bool = False,
        tell: Callable[[Plan, list[Row]], None] = tell,
    ) -> None:
        self.finished: dict[Path, None] = {}
        self.failures: dict[RunConfig, str] = {}
        self._argv = argv
        self._plain = plain
        self._tell = tell
        self._loaded: Session | None = None
        self._judge: tuple[JudgeConfig, Judge] | None = None
        self.then(configs)

    def then(self, configs: Sequence[RunConfig]) -> None:
        """Take up other cells; what is in memory stays for them."""
        self._configs = list(configs)
        self._plans: list[Plan | Exception] = []
        self._decoded: set[int] = set()
        self._ahead: dict[int, int] = {}
        self._progress = Progress(plain=self._plain, silent=rank() > 0)

    def run(self, config: RunConfig) -> int:
        """One cell from checks to summary, as an exit code; an error ends this cell alone."""
        try:
            number = self._number(config)
            self._ahead.pop(number, None)  # its turn has come, whatever becomes of it
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
                assess(plan.folder, config, self._judge_of(config.judge))
                rows = write_summary(plan.folder)
        except Exception as error:  # the other cells of a sweep go on
            if os.environ.get("FLYBENCH_DEBUG"):
                raise
            self.failures[config] = explain(error)
            log.error("%s", self.failures[config])
            return 2
        self.finished[plan.folder.path] = None
        self._tell(plan, rows)
        failed = sum(row["n_error"] for row in rows)
        if failed:
            log.warning("%d sample(s) failed; the same command tries them again.", failed)
        return 1 if failed or judge_failures(rows) else 0

    def _number(self, config: RunConfig) -> int:
        """Which cell this is; all are planned before the first one runs."""
        if not self._plans:
            self._plans = planned(self._configs)
            answers = count(self._sound())
            self._ahead = {number: each.ahead for number, each in answers.items()}
            there = sum(each.there for each in answers.values())
            self._progress = Progress(there, plain=self._plain, silent=rank() > 0)
        return self._configs.index(config)

    def _sound(self) -> dict[int, Plan]:
        """The cells that can run and were not decoded yet, by number."""
        return {
            number: plan
            for number, plan in enumerate(self._plans)
            if isinstance(plan, Plan) and number not in self._decoded
        }

    def _lead(self, number: int, plan: Plan, held: ExitStack) -> None:
        """Decode a cell with those beside it, their folders held, and tell the other ranks."""
        try:
            held.enter_context(plan.folder.exclusive())
            cells = {} if number in self._decoded else {number: plan, **self._others(number, held)}
            for each in cells.values():
                if each.config.fresh:
                    each.folder.set_aside()
                else:
                    check_code(each)
            todo = pending(list(cells.values())) if cells else []
            self._expect(list(cells), todo)
            for each in cells.values():
                open_folder(each, self._argv, decodes=bool(todo))
        except Exception:
            from_leader(NOTHING)  # they wait to be told
            raise
        numbers, todo = from_leader((list(cells), todo))
        if len(cells) > 1 and todo:
            names = ", ".join(each.folder.path.name for each in cells.values())
            log.info("Side by side, with one AR for all: %s.", names)
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
            generate(plans, todo, self._load(plans), self._progress)

    def _expect(self, numbers: list[int], todo: list[Asked]) -> None:
        """Tell the progress what is ahead, now that these cells are to be decoded."""
        for number in numbers:
            self._ahead.pop(number, None)
        now = sum(asked.answers for asked in todo)
        self._progress.expect(now + sum(self._ahead.values()))

    def _others(self, number: int, held: ExitStack) -> dict[int, Plan]:
        """Cells that are decoded beside this one, by number."""
        found: dict[int, Plan] = {}
        plans = self._sound()
        for other in partners(number, plans)[1:]:
            try:
                held.enter_context(plans[other].folder.exclusive())
            except FlybenchError:  # another process decodes it; its own turn will say so
                continue
            found[other] = plans[other]
        return found

    def _load(self, plans: list[Plan]) -> Session:
        """What the plans need in memory, which is kept; room for every cell that will want it."""
        plan = max(plans, key=lambda each: each.weights.drafter is not None)
        wanted = plan.weights
        needed = max(each.max_length for each in plans)
        if self._loaded is None or not self._loaded.serves(wanted, needed):
            self._let_go()
            same = [p for p in self._plans if isinstance(p, Plan) and wanted.serve(p.weights)]
            self._loaded = Session.of(plan, max(each.max_length for each in same))
        return self._loaded

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
