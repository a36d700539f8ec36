"""MBPP, sanitised: 257 short Python functions, run against their tests in the sandbox.

Data: `task.path=` (sanitized-mbpp.json, whose test split is used: ids 11 to 510) or the Hugging
Face Hub. A prompt contains the problem and the tests, because only they name the function. The
score is pass@1 of the one answer.
"""

from __future__ import annotations

import ast
from typing import Any

from flybench.config import TaskConfig
from flybench.core.declare import task
from flybench.core.errors import FlybenchError
from flybench.tasks.programs import ProgramTask, assembled
from flybench.tasks.sources import Rows, by_id, local_file, read_hub, read_rows

INSTRUCTION = (
    "{problem}\n\nReply with the whole program in one Python code block. It must pass these tests:"
    "\n\n```python\n{tests}\n```"
)
FILES = ("sanitized-mbpp.json", "mbpp/sanitized-mbpp.json")
REMEDY = "set task.path= to the file sanitized-mbpp.json."
TESTED = range(11, 511)
FIELDS = {"prompt": str, "code": str, "test_list": list}


@task("mbpp")
class MbppTask(ProgramTask):
    """Prompts and scorer of MBPP."""

    def __init__(self, config: TaskConfig) -> None:
        rows = by_id(_rows(config), "task_id", FIELDS)
        for name, row in rows.items():
            try:
                entry_point(row)
            except (SyntaxError, IndexError) as error:
                raise FlybenchError(
                    f"MBPP's row {name} has no valid function and tests in Python "
                    f"({type(error).__name__}): correct the file, or remove the row."
                ) from error
        super().__init__(rows, config.max_new_tokens)

    def question(self, row: dict[str, Any]) -> str:
        return INSTRUCTION.format(problem=row["prompt"], tests="\n".join(row["test_list"]))

    def entry_point(self, row: dict[str, Any]) -> str:
        return entry_point(row)

    def program(self, row: dict[str, Any], code: str) -> str:
        """Return a program of the answer, the imports of the tests, and the tests."""
        return assembled(code, *(row.get("test_imports") or []), *row["test_list"])


def entry_point(row: dict[str, Any]) -> str:
    """Return the function of the reference solution that the tests call."""
    called = {
        node.func.id
        for test in row["test_list"]
        for node in ast.walk(ast.parse(test))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    defined = [node.name for node in ast.parse(row["code"]).body if hasattr(node, "name")]
    return next((name for name in defined if name in called), defined[-1])


def _rows(config: TaskConfig) -> Rows:
    if not config.path:
        return read_hub("google-research-datasets/mbpp", "test", REMEDY, "sanitized")
    rows = read_rows(local_file(config.path, *FILES))
    return [row for row in rows if not isinstance(row, dict) or row.get("task_id") in TESTED]
