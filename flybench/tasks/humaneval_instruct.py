"""HumanEval with the prompts of lm-eval's `humaneval_instruct`: the model completes an answer that
the prompt begins.

Question, beginning and stop strings are lm-eval's own, read from its recipe; FLy's paper used them.
The data are those of `humaneval.py`, and programs run in the sandbox. The score is pass@1 of the
problem's prompt with the answer up to its first fence.
"""

from __future__ import annotations

from typing import Any

from flybench.config import TaskConfig, digest
from flybench.core.declare import task
from flybench.core.samples import Message
from flybench.tasks.humaneval import HumanEvalTask
from flybench.tasks.lm_eval.recipes import filled, recipe_settings
from flybench.tasks.programs import assembled

RECIPE = "humaneval_instruct"
FENCE = "```"


@task("humaneval_instruct")
class HumanEvalInstructTask(HumanEvalTask):
    """Prompts and answer extraction of lm-eval's recipe."""

    _missing = "nothing stands before the first fence"

    def __init__(self, config: TaskConfig) -> None:
        super().__init__(config)
        recipe = recipe_settings(RECIPE)
        self._question, self._beginning = recipe["doc_to_text"], recipe["gen_prefix"]
        self._stop = tuple(recipe["generation_kwargs"]["until"])

    @property
    def data_sha256(self) -> str:
        asked = [self._question, self._beginning, self._stop]
        return digest([list(self._rows.values()), asked])

    def question(self, row: dict[str, Any]) -> str:
        return filled(self._question, row)

    def messages(self, row: dict[str, Any]) -> tuple[Message, ...]:
        beginning = {"role": "assistant", "content": filled(self._beginning, row)}
        return (*super().messages(row), beginning)

    def code(self, row: dict[str, Any], text: str) -> str | None:
        """Return the function's body; None if the model opens another fence."""
        body = text.split(FENCE)[0]
        return body if body.strip() else None

    def program(self, row: dict[str, Any], code: str) -> str:
        whole = f"{row['prompt']}{code}"
        return assembled(whole, row["test"], f"check({row['entry_point']})")
