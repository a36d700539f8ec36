"""HumanEval as lm-eval's `humaneval_instruct` asks it: the answer is begun, the model completes it.

Question, beginning and stop strings are lm-eval's own, read from its recipe; FLy's paper used them.
The data are those of `humaneval.py`, and programs run in the sandbox. The score is pass@1 of the
problem's prompt with the answer up to its first fence.
"""

from __future__ import annotations

from typing import Any

from flybench.config import TaskConfig
from flybench.core import Message
from flybench.tasks.humaneval import HumanEvalTask
from flybench.tasks.recipes import recipe_settings

FENCE = "```"


class HumanEvalInstructTask(HumanEvalTask):
    """Prompts of lm-eval's recipe, and its way to read an answer."""

    def __init__(self, config: TaskConfig) -> None:
        super().__init__(config)
        recipe = recipe_settings(config)
        self._question, self._beginning = recipe["doc_to_text"], recipe["gen_prefix"]
        self._stop = tuple(recipe["generation_kwargs"]["until"])

    def question(self, row: dict[str, Any]) -> str:
        return _filled(self._question, row)

    def messages(self, row: dict[str, Any]) -> tuple[Message, ...]:
        beginning = {"role": "assistant", "content": _filled(self._beginning, row)}
        return (*super().messages(row), beginning)

    def code(self, row: dict[str, Any], text: str) -> str | None:
        """None where nothing stands before the fence, as when the model opens one of its own."""
        body = text.split(FENCE)[0]
        return f"{row['prompt']}{body}" if body.strip() else None


def _filled(template: str, row: dict[str, Any]) -> str:
    from lm_eval.utils import apply_template

    return str(apply_template(template, row))
