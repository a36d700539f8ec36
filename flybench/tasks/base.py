"""The interface of a task: prompts, and scores of answers.

To add a task, write a class with this interface and the decorator `@task("KIND")` in a file in this
folder (or anywhere, with `task.kind=file:PATH.py:CLASS`), a YAML file in `conf/task/`, and a test
of its scorer. `CONTRIBUTING.md` has a complete example.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from flybench.config import digest
from flybench.core.errors import FlybenchError
from flybench.core.samples import Prompt, Record, Score

Judged = Literal["scored", "partly judged", "unjudged"]


class Task(Protocol):
    """A data set with its prompts and its scorer. Loading happens in the constructor.

    `judged` is the extent to which a rule scores it; `runs_code` is True if scoring runs programs;
    `caution` is a warning about its prompts, or None.
    """

    judged: Judged
    runs_code: bool

    @property
    def caution(self) -> str | None: ...

    @property
    def data_sha256(self) -> str:
        """Hash of all data, independent of the part that a run uses."""

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        """Return the first `count` samples in the order of the data set, or all for None."""

    def score(self, record: Record) -> Score:
        """Score one finished record by rule, without a model.

        Raises:
            FlybenchError: the sample is not in the data.
        """


class RowTask:
    """Base class of tasks with rows of data by sample id."""

    _rows: dict[str, dict[str, Any]]
    caution: str | None = None

    @property
    def data_sha256(self) -> str:
        return digest(list(self._rows.values()))


def row_of(rows: dict[str, dict[str, Any]], record: Record) -> dict[str, Any]:
    """Return the data of a record's sample.

    Raises:
        FlybenchError: the data no longer have it.
    """
    if record.sample_id not in rows:
        raise FlybenchError(
            f"sample {record.sample_id} is not in the task's data, which changed after the run: "
            "set task.path to the original data."
        )
    return rows[record.sample_id]
