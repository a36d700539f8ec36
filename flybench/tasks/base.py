"""The task's protocol: prompts in, scores out.

To add a task: one file beside this one, or anywhere (`task.kind=file:PATH.py:CLASS`), with a class
that keeps these promises under `@task("KIND")`, a YAML in `conf/task/`, and a test of its scorer.
`CONTRIBUTING.md` has a complete example.
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

    `judged` says how much of it a scorer judges; `runs_code`, whether scoring runs programs;
    `caution`, what a reader should know of how it asks.
    """

    judged: Judged
    runs_code: bool

    @property
    def caution(self) -> str | None: ...

    @property
    def data_sha256(self) -> str:
        """Hash of all the data, whatever part of them a run asks for."""

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        """The first `count` samples in the data set's order, all of them for None."""

    def score(self, record: Record) -> Score:
        """Judge one finished record of one of the samples; never asks a model.

        Raises:
            FlybenchError: the sample is not in the data.
        """


class RowTask:
    """The common part of tasks that keep their data as rows by sample id."""

    _rows: dict[str, dict[str, Any]]
    caution: str | None = None

    @property
    def data_sha256(self) -> str:
        return digest(list(self._rows.values()))


def row_of(rows: dict[str, dict[str, Any]], record: Record) -> dict[str, Any]:
    """The data of a record's sample.

    Raises:
        FlybenchError: the data no longer have it.
    """
    if record.sample_id not in rows:
        raise FlybenchError(
            f"Sample {record.sample_id} is not in the task's data: they changed since the run; "
            "give the same task.path as then."
        )
    return rows[record.sample_id]
