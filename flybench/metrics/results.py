"""Results of one method in one run: samples, rounds and summary, computed lazily."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from flybench.config import BASELINE
from flybench.core.samples import Record
from flybench.metrics.frames import gpu_frame, methods_of, round_frame, sample_frame
from flybench.metrics.method_summary import MethodSummary
from flybench.metrics.paired import Paired
from flybench.metrics.summary import method_summary
from flybench.metrics.suppression import LEVEL
from flybench.records.cached import CachedFolder
from flybench.records.folder import RunFolder


@dataclass(frozen=True, eq=False, kw_only=True)
class MethodResult:
    """Results of `method` in a run folder, restricted to the sample ids in `only` if given."""

    folder: CachedFolder
    method: str
    only: Collection[str] | None = None

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Finished samples, as returned by `sample_frame`."""
        frame = sample_frame(self.folder, self.method)
        return frame if self.only is None else frame[frame.index.isin(self.only)]

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """Rounds of all finished samples, as returned by `round_frame`."""
        return round_frame(self.folder, self.method)

    @cached_property
    def gpu_states(self) -> pd.DataFrame:
        """State of every GPU at the end of each finished sample; empty without GPUs."""
        return gpu_frame(self.folder, self.method)

    @cached_property
    def row(self) -> MethodSummary:
        """Summary over all samples."""
        return method_summary(self.folder, self.method)

    @property
    def failed(self) -> list[Record]:
        """Records of samples that failed."""
        records = self.folder.records().values()
        return [record for record in records if record.method == self.method and record.error]

    @property
    def graded(self) -> bool:
        """True if a judge model graded the answers instead of a rule scoring right or wrong."""
        return self.row.judge is not None

    def over(self, baseline: MethodResult, level: float = LEVEL) -> Paired:
        """Pair this method with a `baseline` on the samples that both finished."""
        return Paired(baseline.samples, self.samples, level)


def baseline_of(folder: CachedFolder, only: Collection[str] | None = None) -> MethodResult:
    """Return AR's result in a run; it has no samples if AR did not run."""
    return MethodResult(folder=folder, method=BASELINE, only=only)


def results(folder: RunFolder) -> list[MethodResult]:
    """Return the result of every method of a run, AR and its repeat first."""
    cached = CachedFolder.of(folder)
    return [MethodResult(folder=cached, method=method) for method in methods_of(cached)]
