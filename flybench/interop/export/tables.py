"""Rows as one Parquet file, or as a folder for `datasets.load_from_disk`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset, disable_progress_bars
from tqdm import tqdm

from flybench.interop.export.rows import FEATURES, rows
from flybench.records.folder import RunFolder

PARQUET = "records.parquet"


def write_parquet(folders: Sequence[RunFolder], out: Path) -> list[Path]:
    """`records.parquet`, which pandas, Polars, DuckDB and `load_dataset("parquet")` read."""
    file = out / PARQUET
    _dataset(folders).to_parquet(str(file))
    return [file]


def write_datasets(folders: Sequence[RunFolder], out: Path) -> list[Path]:
    """The folder itself, for `datasets.load_from_disk`."""
    _dataset(folders).save_to_disk(str(out))
    return [out]


def _dataset(folders: Sequence[RunFolder]) -> Any:
    disable_progress_bars()  # ours, over the runs, is the one that takes time
    return Dataset.from_list(list(_progress(folders)), features=FEATURES)


def _progress(folders: Sequence[RunFolder]) -> Iterable[dict[str, Any]]:
    for folder in tqdm(folders, desc="export", unit="run", disable=None):
        yield from rows(folder)
