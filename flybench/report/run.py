"""Runs loaded for a report, with their methods as named arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from flybench.config import BASELINES, REPEAT
from flybench.metrics.paired import Paired, joined
from flybench.metrics.results import MethodResult, baseline_of, results
from flybench.metrics.stats import holm
from flybench.records.cached import CachedFolder
from flybench.records.folder import RunFolder
from flybench.report.method_names import ArmKey, arm_names


class Corrected(NamedTuple):
    """McNemar p-value after Holm's correction for `tests` tests."""

    p: float
    tests: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Arm(MethodResult):
    """One method of one run, with its names in the report.

    `name` is unique within its task and model, `label` on the whole page. `holm` is its corrected
    accuracy test; None if the report has no other test.
    """

    name: str
    label: str
    holm: Corrected | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """One run's folder with its arms, AR first."""

    folder: CachedFolder
    arms: list[Arm]

    @property
    def name(self) -> str:
        return self.folder.path.name

    @property
    def provenance(self) -> dict[str, Any]:
        return self.folder.provenance()

    def text(self, name: str) -> str:
        """Return the content of a file in the folder; empty if it does not exist."""
        path = self.folder.path / name
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    @property
    def title(self) -> str:
        return f"{self.provenance['task']}, {self.provenance['model']}"

    @property
    def margin(self) -> float:
        return float(self.provenance["retention_margin"])

    @property
    def compared(self) -> list[Arm]:
        """Arms that are compared with AR."""
        return [arm for arm in self.arms if arm.method not in BASELINES]

    @property
    def shown(self) -> list[Arm]:
        """Arms with a verdict: the compared ones, or AR if there are none."""
        return self.compared or self.arms[:1]

    @property
    def repeat(self) -> Arm | None:
        """The repeat of AR, if the run has both it and AR."""
        repeats = [arm for arm in self.arms if arm.method == REPEAT and arm.row.n_paired]
        return repeats[0] if repeats else None

    @cached_property
    def baseline(self) -> pd.DataFrame:
        """AR's samples; empty if AR did not run."""
        return baseline_of(self.folder).samples

    def pair(self, arm: Arm) -> Paired:
        """Pair the arm with AR on the samples that both finished."""
        return Paired(self.baseline, arm.samples)

    def joined(self, arm: Arm) -> pd.DataFrame:
        """Join the samples that AR or `arm` finished; AR's columns are named NAME_ar."""
        return joined(self.baseline, arm.samples, every=True)


def load(folders: Sequence[RunFolder]) -> list[Run]:
    """Load the runs in `folders` and name their arms."""
    cached = [CachedFolder.of(folder) for folder in folders]
    tables = [results(folder) for folder in cached]
    corrected = _corrected(tables)
    names = arm_names(cached, [[result.row for result in table] for table in tables])
    return [
        Run(folder, [_arm(result, number, names, corrected) for result in table])
        for number, (folder, table) in enumerate(zip(cached, tables, strict=True))
    ]


def _arm(
    result: MethodResult,
    number: int,
    names: Mapping[ArmKey, str],
    corrected: Mapping[ArmKey, Corrected],
) -> Arm:
    key, row = (number, result.method), result.row
    return Arm(
        folder=result.folder,
        method=result.method,
        name=names[key],
        label=f"{names[key]} · {row.task} · {row.model}",
        holm=corrected.get(key),
    )


def _corrected(tables: Sequence[list[MethodResult]]) -> dict[ArmKey, Corrected]:
    """Corrected tests by index of the run and method; empty for fewer than two tests."""
    tests = {
        (number, result.method): result.row.mcnemar_p
        for number, table in enumerate(tables)
        for result in table
        if result.method not in BASELINES and result.row.mcnemar_p is not None
    }
    if len(tests) < 2:
        return {}
    adjusted = holm(list(tests.values()))
    return {key: Corrected(p, len(tests)) for key, p in zip(tests, adjusted, strict=True)}
