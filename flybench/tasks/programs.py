"""Tasks whose answers are Python functions: each is run with its tests in the sandbox."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import Any

from flybench.core import Prompt, Record, Score
from flybench.sandbox import run_program
from flybench.tasks.base import Judged, RowTask, row_of
from flybench.tasks.code import program_in

FUTURE = re.compile(r"^from __future__ import [^\n]*\n", re.MULTILINE)
IMPORTED = (
    '__name__ = "answer"\nimport sys\nsys.modules[__name__] = sys.modules["__main__"]\ndel sys\n\n'
)


class ProgramTask(RowTask, ABC):
    """Prompts and scorer of one task; a row's `task_id` names the sample."""

    judged: Judged = "scored"
    runs_code = True

    def __init__(self, rows: dict[str, dict[str, Any]], max_new_tokens: int) -> None:
        self._rows = rows
        self._max_new_tokens = max_new_tokens

    @abstractmethod
    def question(self, row: dict[str, Any]) -> str:
        """What the model is asked."""

    @abstractmethod
    def program(self, row: dict[str, Any], code: str) -> str:
        """A whole program of the answer's code and its tests, which raises where one fails."""

    def entry_point(self, row: dict[str, Any]) -> str:
        """The function that an answer has to define."""
        return str(row["entry_point"])

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        return [self._prompt(row) for row in islice(self._rows.values(), count)]

    def _prompt(self, row: dict[str, Any]) -> Prompt:
        message = {"role": "user", "content": self.question(row)}
        return Prompt(str(row["task_id"]), (message,), "code", max_new_tokens=self._max_new_tokens)

    def score(self, record: Record) -> Score:
        """pass@1 of the code block that defines the function."""
        row = row_of(self._rows, record)
        code = program_in(record.turns[-1].text, self.entry_point(row))
        if code is None:
            passed, reason = False, "no code block defines the function"
        else:
            outcome = run_program(self.program(row, code))
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
