"""MBPP, sanitised: 257 short Python functions, run against their tests in the sandbox.

Data: `task.path=` (sanitized-mbpp.json, of which the test part is asked: ids 11 to 510) or the hub.
A prompt states the problem and shows the tests, which alone name the function. The score is pass@1
of the one answer.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any

from flybench.config import TaskConfig
from flybench.core import FlybenchError, Prompt, Record, Score
from flybench.tasks.base import Judged, RowTask, row_of
from flybench.tasks.programs import assembled, score_program
from flybench.tasks.sources import Rows, by_id, local_file, read_hub, read_rows

INSTRUCTION = (
    "{problem}\n\nReply with the whole program in one Python code block. It must pass these tests:"
    "\n\n```python\n{tests}\n```"
)
FILES = ("sanitized-mbpp.json", "mbpp/sanitized-mbpp.json")
REMEDY = "give task.path= the file sanitized-mbpp.json."
TESTED = range(11, 511)


class MbppTask(RowTask):
    """Prompts and scorer of MBPP."""

    judged: Judged = "scored"
    runs_code = True

    def __init__(self, config: TaskConfig) -> None:
        self._config = config
        fields = {"prompt": str, "code": str, "test_list": list}
        self._rows = by_id(_rows(config), "task_id", fields)
        for name, row in self._rows.items():
            try:
                entry_point(row)
            except (SyntaxError, IndexError) as error:
                raise FlybenchError(
                    f"MBPP's row {name} holds no function and tests in Python "
                    f"({type(error).__name__}): mend the file, or leave the row out."
                ) from error

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        return [_prompt(row, self._config) for row in islice(self._rows.values(), count)]

    def score(self, record: Record) -> Score:
        row = row_of(self._rows, record)
        return score_program(record, entry_point(row), partial(program, row))


def entry_point(row: dict[str, Any]) -> str:
    """The function of the problem's own solution that its tests call."""
    called = {
        node.func.id
        for test in row["test_list"]
        for node in ast.walk(ast.parse(test))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    defined = [node.name for node in ast.parse(row["code"]).body if hasattr(node, "name")]
    return next((name for name in defined if name in called), defined[-1])


def program(row: dict[str, Any], code: str) -> str:
    """A whole program: the answer, what the tests import, the tests."""
    return assembled(code, *(row.get("test_imports") or []), *row["test_list"])


def _rows(config: TaskConfig) -> Rows:
    if not config.path:
        return read_hub("google-research-datasets/mbpp", "test", REMEDY, "sanitized")
    rows = read_rows(local_file(config.path, *FILES))
    return [row for row in rows if not isinstance(row, dict) or row.get("task_id") in TESTED]


def _prompt(row: dict[str, Any], config: TaskConfig) -> Prompt:
    content = INSTRUCTION.format(problem=row["prompt"], tests="\n".join(row["test_list"]))
    return Prompt(
        sample_id=str(row["task_id"]),
        messages=({"role": "user", "content": content},),
        category="code",
        max_new_tokens=config.max_new_tokens,
    )
