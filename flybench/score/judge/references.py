"""Reference answers from a file in MT-Bench's format, one JSON object a line:

{"question_id": 101, "choices": [{"turns": ["answer to turn 1", "answer to turn 2"]}], …}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flybench.config import RunConfig
from flybench.core.errors import FlybenchError
from flybench.core.samples import Prompt
from flybench.tasks.sources import read_rows

FOLDER = "reference_answer"


def with_references(prompts: Sequence[Prompt], config: RunConfig) -> list[Prompt]:
    """The prompts with the references of the file that `config` means, or else with their own.

    Raises:
        FlybenchError: the file is missing or of another format.
    """
    file = _file(config)
    if file is None:
        return list(prompts)
    found = dict(_references(row, file) for row in read_rows(file))
    if not found.keys() & {prompt.sample_id for prompt in prompts}:
        raise FlybenchError(
            f"{file} has a reference answer to none of the questions of task {config.task.name}: "
            "name the right file as judge.reference=."
        )
    return [replace(p, references=found.get(p.sample_id, ())) for p in prompts]


def _file(config: RunConfig) -> Path | None:
    """The file of reference answers; None where none is named and none lies beside the task."""
    if config.judge.reference is None:
        if config.task.path is None:
            return None
        path = Path(config.task.path).expanduser()
        folder = (path.parent if path.is_file() else path) / FOLDER
        return _only(folder) if folder.is_dir() else None
    named = Path(config.judge.reference).expanduser()
    if named.is_file():
        return named
    inside = named / FOLDER
    return _only(inside if inside.is_dir() else named)


def _only(folder: Path) -> Path:
    files = sorted(folder.glob("*.jsonl"))
    if len(files) != 1:
        raise FlybenchError(
            f"{folder} holds {len(files)} files of reference answers (.jsonl) where one is needed: "
            "name the file as judge.reference=."
        )
    return files[0]


def _references(row: Any, file: Path) -> tuple[str, tuple[str, ...]]:
    try:
        turns = tuple(row["choices"][0]["turns"])
        if all(isinstance(turn, str) for turn in turns):
            return str(row["question_id"]), turns
    except (KeyError, IndexError, TypeError):
        pass
    raise FlybenchError(
        f"{file} is not in MT-Bench's format of reference answers: each line needs question_id and "
        "choices[0].turns, a list of texts."
    )
