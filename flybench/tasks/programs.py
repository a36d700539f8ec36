"""Tasks with Python functions as answers, which run with their tests in the sandbox."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import Any

from flybench.core.samples import Message, Prompt, Record, Score
from flybench.sandbox.execute import run_program
from flybench.tasks.base import Judged, RowTask, row_of
from flybench.tasks.extract.code import program_in
from flybench.tasks.extract.thoughts import answer_text

FUTURE = re.compile(r"^from __future__ import (?:\([^)]*\)|[^\n]*)[^\n]*\n", re.MULTILINE)
IMPORTED = (
    '__name__ = "answer"\nimport sys\nsys.modules[__name__] = sys.modules["__main__"]\ndel sys\n\n'
)


class ProgramTask(RowTask, ABC):
    """Prompts and scorer of one task; a row's `task_id` names the sample."""

    judged: Judged = "scored"
    runs_code = True
    _stop: tuple[str, ...] = ()
    _missing = "no code block defines the function"

    def __init__(self, rows: dict[str, dict[str, Any]], max_new_tokens: int) -> None:
        self._rows = rows
        self._max_new_tokens = max_new_tokens

    @abstractmethod
    def question(self, row: dict[str, Any]) -> str:
        """Return the prompt of a problem."""

    @abstractmethod
    def program(self, row: dict[str, Any], code: str) -> str:
        """Return a program of the answer's code and its tests, which raises if one fails."""

    def entry_point(self, row: dict[str, Any]) -> str:
        """Return the name of the function that an answer must define."""
        return str(row["entry_point"])

    def messages(self, row: dict[str, Any]) -> tuple[Message, ...]:
        """Return the messages before the answer."""
        return ({"role": "user", "content": self.question(row)},)

    def code(self, row: dict[str, Any], text: str) -> str | None:
        """Return the program in an answer's text; None if there is none."""
        return program_in(text, self.entry_point(row))

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        return [self._prompt(row) for row in islice(self._rows.values(), count)]

    def _prompt(self, row: dict[str, Any]) -> Prompt:
        return Prompt(
            str(row["task_id"]), self.messages(row), "code", self._max_new_tokens, stop=self._stop
        )

    def score(self, record: Record) -> Score:
        """Return pass@1 of the code block that defines the function."""
        row = row_of(self._rows, record)
        code = self.code(row, answer_text(record))
        if code is None:
            passed, reason = False, self._missing
        else:
            result = run_program(self.program(row, code))
            passed, reason = result.passed, f"{result.reason} {result.detail}".strip()
        metrics = {"pass@1": float(passed), "extraction_failure": float(code is None)}
        return Score(record.sample_id, record.method, float(passed), metrics, code, reason)


def assembled(*parts: str) -> str:
    """Join parts into one program, which a test imports instead of running it as a script.

    Code under `if __name__ == "__main__"` is removed, and imports from `__future__` come first.
    """
    source = "\n\n".join(parts) + "\n"
    return "".join(FUTURE.findall(source)) + IMPORTED + FUTURE.sub("", source)
