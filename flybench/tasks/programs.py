"""Judging an answer that is a Python function: it is run with the task's tests in the sandbox."""

from __future__ import annotations

import re
from collections.abc import Callable

from flybench.core import Record, Score
from flybench.sandbox import run_program
from flybench.tasks.answers import code_block

FUTURE = re.compile(r"^from __future__ import [^\n]*\n", re.MULTILINE)
IMPORTED = (
    '__name__ = "answer"\nimport sys\nsys.modules[__name__] = sys.modules["__main__"]\ndel sys\n\n'
)


def score_program(record: Record, entry_point: str, program: Callable[[str], str]) -> Score:
    """pass@1 of the code that defines `entry_point`, which `program` completes with its tests."""
    code = code_block(record.turns[-1].text, entry_point)
    if code is None:
        passed, reason = False, "no code block defines the function"
    else:
        outcome = run_program(program(code))
        passed, reason = outcome.passed, f"{outcome.reason} {outcome.detail}".strip()
    metrics = {"pass@1": float(passed), "extraction_failure": float(code is None)}
    return Score(record.sample_id, record.method, float(passed), metrics, code, reason)


def assembled(*parts: str) -> str:
    """One program of several parts, which a test imports rather than runs.

    What an answer does only when it is run as a script (`if __name__ == "__main__"`) is left out,
    and imports from the future come first.
    """
    source = "\n\n".join(parts) + "\n"
    return "".join(FUTURE.findall(source)) + IMPORTED + FUTURE.sub("", source)
