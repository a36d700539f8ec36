"""One side of a comparison: a run's method and its AR, over a set of samples."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from flybench.config import BASELINE
from flybench.config.groups import read_yaml
from flybench.core.errors import FlybenchError
from flybench.metrics.frames import methods_of
from flybench.metrics.results import MethodResult, baseline_of
from flybench.records.cached import CachedFolder
from flybench.records.folder import RunFolder


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparedRun(MethodResult):
    """The method of a run, or AR for a run of only AR; `name` is A or B."""

    name: str

    @classmethod
    def read(cls, name: str, path: Path) -> ComparedRun:
        """Read a run's folder.

        Raises:
            FlybenchError: `path` is not a run, or no sample of its method finished.
        """
        folder = CachedFolder(RunFolder.existing(path).path)
        known = methods_of(folder)
        method = str(folder.provenance().get("method", known[-1] if known else BASELINE))
        side = cls(name=name, folder=folder, method=method)
        if not len(side.samples):
            raise FlybenchError(
                f"{name}, {path}, has no finished samples of {method}: rerun its `flybench run` "
                "command to resume it."
            )
        return side

    @cached_property
    def plain(self) -> MethodResult:
        """AR's result of the same run, over the same samples."""
        return baseline_of(self.folder, self.only)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        return self.folder.provenance()

    @cached_property
    def config(self) -> dict[str, Any]:
        """The content of config.yaml."""
        return read_yaml(self.folder.config_file)

    @property
    def path(self) -> Path:
        return self.folder.path

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The hash of the prompt, by sample."""
        return {
            sample: record.prompt_sha256
            for (sample, method), record in self.folder.records().items()
            if method == self.method
        }

    @property
    def unfinished(self) -> set[str]:
        """Samples that the method did not finish."""
        return self.prompts.keys() - set(self.samples.index)

    @property
    def scored(self) -> bool:
        return bool(self.samples["correct"].notna().any())

    def among(self, samples: Collection[str]) -> ComparedRun:
        """Return this side restricted to `samples`."""
        return replace(self, only=samples)
