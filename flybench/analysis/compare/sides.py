"""One side of a comparison: a run's method beside its AR, over some samples."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from flybench.config import BASELINE
from flybench.config.groups import read_yaml
from flybench.core.errors import FlybenchError
from flybench.metrics.frames import methods_of, sample_frame
from flybench.records.folder import RunFolder
from flybench.report.run import CachedFolder


@dataclass(frozen=True, eq=False)
class Side:
    """`samples` are the method's finished samples, `plain` AR's, both as `sample_frame` has them.

    `method` is that of the run, or AR where nothing else ran.
    """

    name: str
    folder: CachedFolder
    method: str
    samples: pd.DataFrame
    plain: pd.DataFrame

    @classmethod
    def read(cls, name: str, path: Path) -> Side:
        """A run's folder.

        Raises:
            FlybenchError: there is no run, or no sample of its method finished.
        """
        folder = CachedFolder(RunFolder.existing(path).path)
        known = methods_of(folder)
        asked = str(folder.provenance().get("method", known[-1] if known else BASELINE))
        samples = sample_frame(folder, asked)
        if not len(samples):
            raise FlybenchError(
                f"{name}, {path}, holds no finished sample of {asked}: repeat its `flybench run`, "
                "which continues it."
            )
        return cls(name, folder, asked, samples, sample_frame(folder, BASELINE))

    @cached_property
    def provenance(self) -> dict[str, Any]:
        return self.folder.provenance()

    @cached_property
    def config(self) -> dict[str, Any]:
        """config.yaml as it stands."""
        return read_yaml(self.folder.config_file)

    @property
    def path(self) -> Path:
        return self.folder.path

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The hash of what was asked, by sample."""
        return {
            sample: record.prompt_sha256
            for (sample, method), record in self.folder.records().items()
            if method == self.method
        }

    @property
    def failed(self) -> set[str]:
        """Samples that the method was asked and did not finish."""
        return self.prompts.keys() - set(self.samples.index)

    @property
    def scored(self) -> bool:
        return bool(self.samples["correct"].notna().any())

    def over(self, samples: Collection[str]) -> Side:
        """The same side with these samples alone."""
        own, plain = (frame[frame.index.isin(samples)] for frame in (self.samples, self.plain))
        return replace(self, samples=own, plain=plain)
