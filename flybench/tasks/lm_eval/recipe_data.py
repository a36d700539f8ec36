"""User data that replace the Hugging Face Hub data of an lm-eval recipe.

`task.path` is a folder with a file for each split that the recipe names (`test.jsonl`,
`train.parquet`, …), or one file with the samples.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flybench.config import TaskConfig
from flybench.core.errors import FlybenchError

READERS = {".jsonl": "json", ".json": "json", ".parquet": "parquet", ".csv": "csv", ".tsv": "csv"}
SPLITS = ("training_split", "validation_split", "test_split", "fewshot_split")


def own_data(config: TaskConfig, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that replace a recipe's data by the files of `config.path`.

    Raises:
        FlybenchError: no file has a known format, the formats are mixed, or the split to evaluate
            is missing.
    """
    named = [settings.get(key) for key in SPLITS]
    named.append((settings.get("fewshot_config") or {}).get("split"))
    wanted = list(dict.fromkeys(split for split in named if split))
    asked = settings.get("test_split") or settings.get("validation_split") or "test"
    files = _files(Path(str(config.path)).expanduser(), config, wanted, asked)
    kinds = {_reader(file) for file in files.values()}
    if len(kinds) > 1:
        raise FlybenchError(
            f"task.path={config.path} mixes formats ({', '.join(sorted(map(str, kinds)))}): use "
            "one for all splits."
        )
    (kind,) = kinds
    how: dict[str, Any] = {"data_files": {split: str(file) for split, file in files.items()}}
    if any(".tsv" in file.suffixes for file in files.values()):
        how |= {"sep": "\t", "quoting": csv.QUOTE_NONE}
    if config.columns is not None and kind == "csv":
        how["names"] = list(config.columns)
    absent = {key: None for key in SPLITS if settings.get(key) not in (None, *files)}
    return absent | {"dataset_path": kind, "dataset_name": None, "dataset_kwargs": how}


def _reader(file: Path) -> str | None:
    """Return the reader of `datasets` for a file, which may be compressed; None for an unknown
    format."""
    return READERS.get(Path(file.name.removesuffix(".gz")).suffix)


def _files(path: Path, config: TaskConfig, wanted: list[str], asked: str) -> dict[str, Path]:
    if path.is_file():
        if _reader(path) is None:
            raise FlybenchError(
                f"task.path={config.path} is not of a known format: use {', '.join(READERS)}."
            )
        return {asked: path}
    places = [path, path / config.name]
    found = {
        split: file
        for split in wanted
        for place in places
        for suffix in (*READERS, *(f"{suffix}.gz" for suffix in READERS))
        if (file := place / f"{split}{suffix}").is_file()
    }
    if asked not in found:
        raise FlybenchError(
            f"task.path={config.path} has no {asked} split of {config.name}: use a file, or a "
            f"folder with {' and '.join(f'{split}.jsonl' for split in wanted)}."
        )
    return found
