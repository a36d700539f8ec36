"""A run as the report needs it, read once: its methods as arms, each with tables and a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from flybench.config import BASELINES, REPEAT
from flybench.core.samples import Record, Score
from flybench.metrics.frames import gpu_frame, round_frame, sample_frame
from flybench.metrics.stats import holm
from flybench.metrics.summary import Row, summarise
from flybench.records.folder import Key, RunFolder
from flybench.report.names import arm_names


class CachedFolder(RunFolder):
    """The same files, each read once."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._memory: dict[Key, Any] = {}

    def cached(self, key: Key, make: Callable[[], Any]) -> Any:
        if key not in self._memory:
            self._memory[key] = make()
        return self._memory[key]

    def records(self) -> dict[Key, Record]:
        return self._records

    def scores(self) -> dict[Key, Score]:
        return self._scores

    def provenance(self) -> dict[str, Any]:
        return self._provenance

    @cached_property
    def _provenance(self) -> dict[str, Any]:
        return super().provenance()

    @cached_property
    def _records(self) -> dict[Key, Record]:
        return super().records()

    @cached_property
    def _scores(self) -> dict[Key, Score]:
        return super().scores()


class Corrected(NamedTuple):
    """McNemar's p after Holm's correction for so many tests."""

    p: float
    tests: int


@dataclass(frozen=True, eq=False)
class Arm:
    """One method of one run; `row` is its row of the summary.

    `name` tells it apart among the arms of its task and model, `label` on the whole page. `holm`
    is its test of accuracy as one of a family; None where there is no other.
    """

    name: str
    label: str
    row: Row
    samples: pd.DataFrame
    rounds: pd.DataFrame
    cards: pd.DataFrame
    failed: list[Record]
    holm: Corrected | None = None

    @property
    def method(self) -> str:
        return str(self.row["method"])

    @property
    def graded(self) -> bool:
        """Whether a model graded its answers, instead of a rule that knows right from wrong."""
        return self.row["judge"] is not None


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
        """A file of the folder as it is, empty if it is not there."""
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
        """The arms to compare with AR."""
        return [arm for arm in self.arms if arm.method not in BASELINES]

    @property
    def shown(self) -> list[Arm]:
        """The arms to speak of one by one: those compared, or AR alone."""
        return self.compared or self.arms[:1]

    @property
    def repeat(self) -> Arm | None:
        """AR's second turn, if the run has one and AR's first beside it."""
        found = [arm for arm in self.arms if arm.method == REPEAT and arm.row["n_paired"]]
        return found[0] if found else None

    @cached_property
    def baseline(self) -> pd.DataFrame:
        """AR's samples; empty if AR did not run."""
        return sample_frame(self.folder, "ar")

    def joined(self, arm: Arm) -> pd.DataFrame:
        """Samples that AR or `arm` finished: columns of the arm, and AR's as NAME_ar."""
        return self.baseline.join(arm.samples, how="outer", lsuffix="_ar")

    def paired(self, arm: Arm) -> pd.DataFrame:
        """Samples that both finished, columns as in `joined`."""
        return self.baseline.join(arm.samples, how="inner", lsuffix="_ar")

    def judged(self, arm: Arm) -> pd.DataFrame:
        """The pairs that were judged: columns `correct_ar` and `correct`."""
        return self.joined(arm)[["correct_ar", "correct"]].dropna()


def load(folders: Sequence[RunFolder]) -> list[Run]:
    """Read the folders; arms alike in method, task and model are told apart by their settings."""
    cached = [CachedFolder(folder.path) for folder in folders]
    rows = [summarise(folder) for folder in cached]
    corrected = _corrected(rows)
    names = arm_names(cached, rows)
    runs = []
    for number, (folder, table) in enumerate(zip(cached, rows, strict=True)):
        arms = [
            Arm(
                name=names[number, row["method"]],
                label=f"{names[number, row['method']]} · {row['task']} · {row['model']}",
                row=row,
                samples=sample_frame(folder, row["method"]),
                rounds=round_frame(folder, row["method"]),
                cards=gpu_frame(folder, row["method"]),
                failed=[
                    record
                    for record in folder.records().values()
                    if record.method == row["method"] and record.error
                ],
                holm=corrected.get((number, row["method"])),
            )
            for row in table
        ]
        runs.append(Run(folder, arms))
    return runs


def _corrected(rows: Sequence[list[Row]]) -> dict[tuple[int, str], Corrected]:
    """Corrected tests by the number of the run and the method; empty for fewer than two."""
    tests = {
        (number, row["method"]): row["mcnemar_p"]
        for number, table in enumerate(rows)
        for row in table
        if row["method"] not in BASELINES and row["mcnemar_p"] is not None
    }
    if len(tests) < 2:
        return {}
    adjusted = holm(list(tests.values()))
    return {key: Corrected(p, len(tests)) for key, p in zip(tests, adjusted, strict=True)}
