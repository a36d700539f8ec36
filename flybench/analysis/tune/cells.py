"""Runs of a tuning, one group after another on the same weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flybench.config import RunConfig
from flybench.core.errors import FlybenchError
from flybench.metrics.rows import MethodSummary
from flybench.run.plan import Plan
from flybench.run.sweep import Sweep


class Cells:
    """Decodes and scores groups of cells on the same models; `failed` counts the samples that
    are lost for now."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._plans: dict[RunConfig, Plan] = {}
        self._lost: dict[Path, int] = {}
        self._sweep = Sweep([], argv, on_finished=self._keep)

    @property
    def failed(self) -> int:
        return sum(self._lost.values())

    def run(self, configs: Sequence[RunConfig]) -> list[Plan]:
        """The plans of these cells, whose records and scores are on disk.

        Raises:
            FlybenchError: one of them cannot run.
        """
        self._sweep.enqueue(configs)
        for config in configs:
            self._sweep.run(config)
            if config in self._sweep.failures:
                raise FlybenchError(self._sweep.failures[config])
        return [self._plans[config] for config in configs]

    def _keep(self, plan: Plan, rows: list[MethodSummary]) -> None:
        self._plans[plan.config] = plan
        self._lost[plan.folder.path] = sum(row.n_error for row in rows)
