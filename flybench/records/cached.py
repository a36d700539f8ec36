"""A cache of the parsed files of a run's folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from flybench.core.samples import Record, Score
from flybench.records.folder import Key, RunFolder


class CachedFolder(RunFolder):
    """A run's folder that parses each of its files at most once."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._memory: dict[Key, Any] = {}

    @classmethod
    def of(cls, folder: RunFolder) -> CachedFolder:
        """Return the folder with a cache; the folder itself if it has one."""
        return folder if isinstance(folder, CachedFolder) else cls(folder.path)

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
