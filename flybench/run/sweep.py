"""Execution of all cells of `flybench run` in one process.

Cells that differ only in their method are decoded together and share one AR run. The first of
these cells decodes for all, and the others read their answers from disk. A model pair stays loaded
as long as the next cells need it.
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
from flybench.metrics.method_summary import MethodSummary
from flybench.metrics.summary import judge_failures, write_summary
from flybench.records.folder import RunFolder
from flybench.records.token_texts import write_pieces
from flybench.run.grouping import compatible, count_answers
from flybench.run.headline import headline
from flybench.run.plan import Plan, make_plans
from flybench.run.progress import Progress
from flybench.run.provenance import check_code, open_folder
from flybench.run.runner import PendingSample, generate, pending
from flybench.run.session import Session
from flybench.score.judge import build_judge
from flybench.score.judge.base import Judge
from flybench.score.score import score_folder

log = logging.getLogger(__name__)

Job = tuple[list[int], list[PendingSample]]
"""Indices of the cells that are decoded together, and their samples."""
NOTHING: Job = ([], [])


def print_result(plan: Plan, rows: list[MethodSummary]) -> None:
    """Print the result of a cell."""
    print(headline(rows))
    print(f"\n{plan.folder.path}\nReport: flybench report {plan.folder.path}")


class Sweep:
    """Runs cells. `argv` is the command for provenance; `on_finished` gets each finished cell."""

    def __init__(
        self,
        configs: Sequence[RunConfig],
        argv: Sequence[str],
        plain: bool = False,
        on_finished: Callable[[Plan, list[MethodSummary]], None] = print_result,
    ) -> None:
        self.finished: dict[Path, None] = {}
        self.failures: dict[RunConfig, str] = {}
        self._argv = argv
        self._plain = plain
        self._on_finished = on_finished
        self._session: Session | None = None
        self._judge: tuple[JudgeConfig, Judge] | None = None
        self.enqueue(configs)

    def enqueue(self, configs: Sequence[RunConfig]) -> None:
        """Replace the cells to run; loaded models are kept for them."""
        self._configs = list(configs)
        self._plans: list[Plan | Exception] = []
        self._decoded: set[int] = set()
        self._remaining: dict[int, int] = {}
        self._progress = Progress(plain=self._plain, silent=rank() > 0)

    def run(self, config: RunConfig) -> int:
        """Run one cell from checks to summary and return an exit code."""
        try:
            number = self._index(config)
            self._remaining.pop(number, None)  # it counts as started, whether or not it succeeds
            plan = self._plans[number]
            if isinstance(plan, Exception):
                raise plan
            use_threads(plan.engine)
            join(plan.device)
            if rank():
                self._follower()
                return 0
            with ExitStack() as held:
                self._leader(number, plan, held)
                write_pieces(plan.folder, plan.chat.detokenize)
                score_folder(plan.folder, config, self._judge_for(config.judge))
                rows = write_summary(plan.folder)
        except Exception as error:  # the sweep continues with its other cells
            if os.environ.get("FLYBENCH_DEBUG"):
                raise
            self.failures[config] = explain(error)
            log.error("%s", self.failures[config])
            return 2
        self.finished[plan.folder.path] = None
        self._on_finished(plan, rows)
        failed = sum(row.n_error for row in rows)
        if failed:
            log.warning("%d sample(s) failed; rerun the command to retry them.", failed)
        return 1 if failed or judge_failures(rows) else 0

    def _index(self, config: RunConfig) -> int:
        """Return the index of a cell; all are planned before the first one runs."""
        if not self._plans:
            self._plans = make_plans(self._configs)
            answers = count_answers(self._validated())
            self._remaining = {number: each.remaining for number, each in answers.items()}
            done = sum(each.done for each in answers.values())
            self._progress = Progress(done, plain=self._plain, silent=rank() > 0)
        return self._configs.index(config)

    def _validated(self) -> dict[int, Plan]:
        """Return the plans of the cells that can run and are not decoded yet, by index."""
        return {
            number: plan
            for number, plan in enumerate(self._plans)
            if isinstance(plan, Plan) and number not in self._decoded
        }

    def _leader(self, number: int, plan: Plan, held: ExitStack) -> None:
        """Decode a cell with its group, holding their folders, and send the job to other ranks."""
        try:
            held.enter_context(plan.folder.exclusive())
            cells = {} if number in self._decoded else {number: plan, **self._others(number, held)}
            for each in cells.values():
                if each.config.fresh:
                    each.folder.archive()
                else:
                    check_code(each)
            todo = pending(list(cells.values())) if cells else []
            self._expect(list(cells), todo)
            for each in cells.values():
                open_folder(each, self._argv, decodes=bool(todo))
        except Exception:
            from_leader(NOTHING)  # the other ranks wait for a job
            raise
        numbers, todo = from_leader((list(cells), todo))
        if len(cells) > 1 and todo:
            names = ", ".join(each.folder.path.name for each in cells.values())
            log.info("Decoding together, sharing one AR run: %s.", names)
        self._decode(list(cells.values()), todo)
        self._decoded |= set(numbers)

    def _follower(self) -> None:
        """Decode the job of rank 0 with it; the files of this rank are discarded."""
        numbers, todo = from_leader(NOTHING)
        with tempfile.TemporaryDirectory() as scratch:
            apart = []
            for number in numbers if todo else []:
                plan = self._plans[number]
                assert isinstance(plan, Plan), "ranks plan alike"
                apart.append(replace(plan, folder=RunFolder(Path(scratch, str(number)))))
                open_folder(apart[-1], [])
            self._decode(apart, todo)

    def _decode(self, plans: list[Plan], todo: list[PendingSample]) -> None:
        if todo:
            generate(plans, todo, self._load(plans), self._progress)

    def _expect(self, numbers: list[int], todo: list[PendingSample]) -> None:
        """Update the total of the progress bar before these cells are decoded."""
        for number in numbers:
            self._remaining.pop(number, None)
        now = sum(sample.answers for sample in todo)
        self._progress.expect(now + sum(self._remaining.values()))

    def _others(self, number: int, held: ExitStack) -> dict[int, Plan]:
        """Lock the folders of the cells that are decoded with this one; return their plans."""
        found: dict[int, Plan] = {}
        plans = self._validated()
        for other in compatible(number, plans)[1:]:
            try:
                held.enter_context(plans[other].folder.exclusive())
            except FlybenchError:  # another process decodes it; running its cell reports that
                continue
            found[other] = plans[other]
        return found

    def _load(self, plans: list[Plan]) -> Session:
        """Return a session for the plans, large enough for every cell that can use it."""
        plan = max(plans, key=lambda each: each.weights.drafter is not None)
        wanted = plan.weights
        needed = max(each.max_length for each in plans)
        if self._session is None or not self._session.can_run(wanted, needed):
            self._unload()
            same = [p for p in self._plans if isinstance(p, Plan) and wanted.includes(p.weights)]
            self._session = Session.of(plan, max(each.max_length for each in same))
        return self._session

    def _judge_for(self, config: JudgeConfig) -> Judge | None:
        """Return the judge of a cell, kept for the next one; a local judge needs the memory."""
        if config.kind == "none":
            return None
        if self._judge is None or self._judge[0] != config:
            if config.kind == "local":
                self._unload()
            self._judge = config, build_judge(config)
        return self._judge[1]

    def _unload(self) -> None:
        """Free the memory of every model."""
        self._session = self._judge = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
