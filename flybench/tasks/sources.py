"""Sources of a task's data: a user's folder, an installed package, or the Hugging Face Hub.

`flybench doctor` calls `reachable` for each task; the constructors of tasks call `read_*`.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from flybench.core.errors import FlybenchError

Rows = list[dict[str, Any]]


def local_file(path: str, *names: str) -> Path:
    """Return the data file of `task.path`: the file itself, or one of `names` in that folder.

    Raises:
        FlybenchError: no such file exists.
    """
    root = Path(path).expanduser()
    if root.is_file():
        return root
    for name in names:
        if (root / name).is_file():
            return root / name
    raise FlybenchError(
        f"task.path={path} has none of {', '.join(names)}: use such a file or its folder."
    )


def read_rows(path: Path) -> Rows:
    """Read rows of a file with a JSON object a line, or with one JSON array; it may end in .gz.

    Raises:
        FlybenchError: it is neither.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as stream:
            text = stream.read()
        if text.lstrip().startswith("["):
            rows: Rows = json.loads(text)
        else:
            rows = [json.loads(line) for line in text.split("\n") if line.strip()]
        # Half of a surrogate pair is valid JSON, but tokenizers and files cannot encode it.
        json.dumps(rows, ensure_ascii=False).encode()
        return rows
    except (ValueError, EOFError, OSError, zlib.error, RecursionError) as error:
        raise FlybenchError(
            f"{path} is not a file of JSON rows ({type(error).__name__}: {error}): check task.path."
        ) from error


def by_id(rows: Rows, id_field: str, fields: Mapping[str, type]) -> dict[str, dict[str, Any]]:
    """Return rows by their id as text, after checking that each has `fields` of the right types.

    Raises:
        FlybenchError: a row is not an object, lacks a field, or repeats an id.
    """
    found: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(rows, start=1):
        wrong = "is not an object" if not isinstance(row, dict) else _wrong(row, id_field, fields)
        if wrong:
            raise FlybenchError(f"row {number} of the task's data {wrong}: correct the file.")
        name = str(row[id_field])
        if name in found:
            raise FlybenchError(
                f"row {number} of the task's data repeats the id {name}: rename it."
            )
        found[name] = row
    return found


def _wrong(row: dict[str, Any], id_field: str, fields: Mapping[str, type]) -> str:
    if not isinstance(row.get(id_field), str | int):
        return f"has no id in {id_field!r}"
    for name, kind in fields.items():
        value = row.get(name)
        if not isinstance(value, kind):
            return f"needs {name!r} of type {kind.__name__}"
        if isinstance(value, list) and not (value and all(isinstance(v, str) for v in value)):
            return f"needs texts in {name!r}, at least one"
    return ""


def package_file(package: str, name: str) -> Path | None:
    """Return a data file of an installed package, None if the package or the file is missing."""
    try:
        path = Path(str(resources.files(package).joinpath(name)))
    except ModuleNotFoundError:
        return None
    return path if path.is_file() else None


def read_hub(dataset: str, split: str, remedy: str, name: str | None = None) -> Rows:
    """Read the rows of a data set on the Hugging Face Hub.

    Raises:
        FlybenchError: the Hub is not reachable or refuses; the message ends with `remedy`.
    """
    from datasets import load_dataset

    try:
        return [dict(row) for row in load_dataset(dataset, name, split=split)]
    except Exception as error:
        raise FlybenchError(
            f"The data set {dataset} could not be read from the Hugging Face Hub "
            f"({type(error).__name__}): {remedy}"
        ) from error
