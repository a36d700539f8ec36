"""GSM8K as lm-eval defines it: prompts, few-shot examples, stop strings, filters and metric.

Three rules score every answer: lm-eval's `strict` and `flexible` filters with its exact match, and
`numeric`, the number that the answer gives (`flybench.tasks.extract.numbers`), compared by value.
`task.metric` selects the accuracy.
"""

from __future__ import annotations

from pathlib import Path

from flybench.config import TaskConfig
from flybench.core.declare import task
from flybench.core.errors import FlybenchError
from flybench.core.samples import Record, Score
from flybench.tasks.base import row_of
from flybench.tasks.extract.numbers import as_number, final_number
from flybench.tasks.extract.thoughts import answer_text
from flybench.tasks.lm_eval.recipe_task import RecipeTask
from flybench.tasks.lm_eval.task import filtered

FILTERS = {"strict-match": "strict", "flexible-extract": "flexible"}
INVALID = "[invalid]"


@task("gsm8k", metrics=("numeric", "strict", "flexible"))
class Gsm8kTask(RecipeTask):
    """lm-eval's `gsm8k` with an additional rule."""

    _category = "math"

    def __init__(self, config: TaskConfig) -> None:
        # One file for both splits would show every question with its answer beforehand.
        if config.path and not Path(config.path).expanduser().is_dir():
            raise FlybenchError(
                f"task.path={config.path} is not a folder: gsm8k needs one with train.jsonl and "
                "test.jsonl."
            )
        super().__init__(config)

    def score(self, record: Record) -> Score:
        doc = row_of(self._rows, record)
        text = answer_text(record)
        answers = {FILTERS[name]: said for name, said in filtered(self._task, doc, text).items()}
        metrics = {
            rule: float(self._task.process_results(doc, [answer])["exact_match"])
            for rule, answer in answers.items()
        }
        number = final_number(text)
        gold = as_number(doc["answer"].rsplit("####", 1)[-1])
        metrics["numeric"] = float(number is not None and number == gold)
        metrics |= {f"{rule}_failure": float(a == INVALID) for rule, a in answers.items()}
        metrics["extraction_failure"] = float(number is None)
        extracted = None if number is None else str(number)
        return Score(
            record.sample_id,
            record.method,
            metrics[self._config.metric or "numeric"],
            metrics,
            extracted,
        )

    def _fields(self) -> dict[str, type]:
        return {"question": str, "answer": str}
