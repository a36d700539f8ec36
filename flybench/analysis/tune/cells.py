"""Runs of a tuning, on models that are loaded once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flybench.config import RunConfig
from flybench.core.errors import FlybenchError
from flybench.metrics.method_summary import MethodSummary
from flybench.run.plan import Plan
from flybench.run.sweep import Sweep


class CellRunner:
    """Decodes and scores groups of cells on the same models."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._plans: dict[RunConfig, Plan] = {}
        self._failed: dict[Path, int] = {}
        self._sweep = Sweep([], argv, on_finished=self._keep)

    @property
    def failed(self) -> int:
        """Number of samples that failed in the last run of each cell."""
        return sum(self._failed.values())

    def run(self, configs: Sequence[RunConfig]) -> list[Plan]:
        """Run these cells and return their plans; records and scores are then on disk.

        Raises:
            FlybenchError: a cell cannot run.
        """
        self._sweep.enqueue(configs)
        for config in configs:
            self._sweep.run(config)
            if config in self._sweep.failures:
                raise FlybenchError(self._sweep.failures[config])
        return [self._plans[config] for config in configs]

    def _keep(self, plan: Plan, rows: list[MethodSummary]) -> None:
        self._plans[plan.config] = plan
        self._failed[plan.folder.path] = sum(row.n_error for row in rows)
