"""MBPP+: MBPP's functions with many more inputs, run against the reference solution in the sandbox.

Data: `task.path=` (MbppPlus.jsonl, which EvalPlus's package downloads from its releases) or the
Hugging Face Hub. The package `evalplus` has no data and is not needed: `plus_check.py` contains its
comparison rules. A prompt contains the problem with one assertion, which names the function. The
score is pass@1 of the one answer, over the old and the new inputs.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from flybench.config import TaskConfig
from flybench.core.declare import task
from flybench.core.errors import FlybenchError
from flybench.tasks.mbpp import plus_check
from flybench.tasks.mbpp.mbpp import entry_point
from flybench.tasks.mbpp.plus_inputs import as_python
from flybench.tasks.programs import ProgramTask, assembled
from flybench.tasks.sources import Rows, by_id, local_file, read_hub, read_rows

INSTRUCTION = (
    "{problem}\n\nReply with the whole program in one Python code block. It must satisfy the "
    "assertion, and the description for any other input."
)
FILES = ("MbppPlus.jsonl", "MbppPlus.jsonl.gz", "mbpp_plus/MbppPlus.jsonl")
REMEDY = "set task.path= to the file MbppPlus.jsonl of EvalPlus' releases."
FIELDS = {"prompt": str, "entry_point": str, "canonical_solution": str, "inputs": str}


@task("mbpp_plus")
class MbppPlusTask(ProgramTask):
    """Prompts and scorer of MBPP+."""

    def __init__(self, config: TaskConfig) -> None:
        if config.path:
            rows = _each(_of_evalplus, read_rows(local_file(config.path, *FILES)))
        else:
            rows = _each(_of_hub, read_hub("evalplus/mbppplus", "test", REMEDY))
        super().__init__(by_id(rows, "task_id", FIELDS), config.max_new_tokens)

    def question(self, row: dict[str, Any]) -> str:
        return INSTRUCTION.format(problem=row["prompt"])

    def program(self, row: dict[str, Any], code: str) -> str:
        """Return a program of the answer, then the comparison in a separate namespace."""
        name = row["entry_point"]
        values = [name, row["canonical_solution"], row["inputs"], row["atol"]]
        comparison = (
            f"__check = {{}}\nexec({inspect.getsource(plus_check)!r}, __check)\n"
            f"__check['check']({name}, {', '.join(map(repr, values))})"
        )
        return assembled(code, comparison)


def _each(convert: Callable[[Any], dict[str, Any]], rows: Rows) -> Rows:
    found = []
    for number, row in enumerate(rows, start=1):
        try:
            found.append(convert(row))
        except (KeyError, TypeError, ValueError, IndexError, SyntaxError, AttributeError) as error:
            raise FlybenchError(
                f"row {number} of the task's data is not a problem of MBPP+ "
                f"({type(error).__name__}: {error}): correct the file."
            ) from error
    return found


def _of_evalplus(row: dict[str, Any]) -> dict[str, Any]:
    """Convert a row of EvalPlus' file, whose inputs are JSON and whose prompt is a docstring."""
    kept = {name: row[name] for name in ("task_id", "entry_point", "canonical_solution", "atol")}
    inputs = as_python(str(row["task_id"]), [*row["base_input"], *row["plus_input"]])
    problem = row["prompt"].strip().strip("\"'").strip()
    if row["entry_point"] not in problem:
        raise ValueError("its prompt names no function, as in EvalPlus' first versions")
    return kept | {"prompt": problem, "inputs": repr(inputs)}


def _of_hub(row: dict[str, Any]) -> dict[str, Any]:
    """Convert a row of the Hub's data set, whose inputs and tolerance are in the program `test`."""
    tree = ast.parse(row["test"])
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    atol = next(c.args[-1] for c in calls if getattr(c.func, "id", "") == "assertion")
    (inputs,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "inputs"
    )
    return {
        "task_id": row["task_id"],
        "entry_point": entry_point(row),
        "canonical_solution": row["code"],
        "atol": ast.literal_eval(atol),
        "prompt": f"{row['prompt']}\n{row['test_list'][0]}",
        "inputs": ast.unparse(inputs),
    }
