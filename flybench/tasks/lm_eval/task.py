"""Any generative task of lm-eval: its prompts, filters and metrics.

lm-eval scores the records after decoding. A metric is named `METRIC,FILTER`, as in lm-eval.
"""

from __future__ import annotations

import numbers
from typing import Any

from flybench.config import TaskConfig
from flybench.config.checks import suggestion
from flybench.core.declare import task
from flybench.core.errors import FlybenchError
from flybench.core.samples import Record, Score
from flybench.tasks.base import row_of
from flybench.tasks.extract.thoughts import answer_text
from flybench.tasks.lm_eval.recipe_task import RecipeTask


@task("lm_eval")
class LmEvalTask(RecipeTask):
    """A `generate_until` task of lm-eval, scored by its own metrics."""

    def __init__(self, config: TaskConfig) -> None:
        super().__init__(config)
        self._metric = self._main_metric()
        if self._metric is None:
            self.judged = "unjudged"
            self.caution = " ".join(filter(None, [self.caution, self._of_all_answers()]))

    def score(self, record: Record) -> Score:
        doc, reason = row_of(self._rows, record), ""
        if self._metric is None:
            return Score(record.sample_id, record.method, None, {}, None, self._of_all_answers())
        found: dict[str, Any] = {}
        try:
            answers = filtered(self._task, doc, answer_text(record))
        except Exception as error:
            reason = f"lm-eval's filters could not read it ({type(error).__name__}: {error})"
            return Score(record.sample_id, record.method, None, {}, None, reason)
        for name, answer in answers.items():
            try:
                result = self._task.process_results(doc, [answer])
                found |= {f"{metric},{name}": value for metric, value in result.items()}
            except Exception as error:  # a recipe's own code meets an answer it did not expect
                reason = f"lm-eval could not score it ({type(error).__name__}: {error})"
        metrics = {name: float(value) for name, value in found.items() if _is_share(value)}
        correct = metrics.get(self._metric)
        if correct is None and isinstance(value := found.get(self._metric), numbers.Real):
            # Dropping the answer would bias the mean towards answers that are in range.
            raise FlybenchError(
                f"{self._metric} of an answer is {float(value):g}, which is outside [0, 1]: set "
                "task.metric= to another metric, or scale it in the recipe."
            )
        if correct is None and not reason:
            reason = f"{self._metric} is not a number from 0 to 1 for a single answer"
        extracted = answers.get(self._metric.rpartition(",")[2])
        return Score(record.sample_id, record.method, correct, metrics, extracted, reason)

    def _main_metric(self) -> str | None:
        """Return the metric that is the accuracy, as `METRIC,FILTER`; None for corpus metrics such
        as BLEU, which do not score single answers."""
        filters = [one.name for one in self._task._filters]
        own, of_all = self._metrics()
        if not own and not of_all:
            raise FlybenchError(
                f"task.name={self._config.name} has no metric for which higher is better: add one "
                "to the metric_list of its recipe."
            )
        names = [f"{metric},{name}" for metric in own for name in filters]
        wanted = self._config.metric or (names[0] if names else None)
        if wanted is not None and wanted not in names:
            known = f"use one of {'; '.join(names)}" if names else "leave it out"
            raise FlybenchError(
                f"task.metric={wanted} is not a metric of {self._config.name} for single answers: "
                f"{known}{suggestion(wanted, names)}."
            )
        return wanted

    def _metrics(self) -> tuple[list[str], list[str]]:
        """Return the metrics to maximise: those of single answers, and those of the corpus."""
        from lm_eval.api import metrics

        better, how = self._task.higher_is_better(), self._task.aggregation()
        rows = self._task.config.metric_list or []
        names = [row["metric"] for row in rows if better[row["metric"]]]
        # A recipe's own aggregation may be a mean; lm-eval's other ones, such as BLEU, are not.
        means = (metrics.mean, metrics.nanmean)
        of_all = [
            name
            for name in names
            if how[name] not in means and how[name].__module__ == metrics.__name__
        ]
        return [name for name in names if name not in of_all], of_all

    def _of_all_answers(self) -> str:
        _, names = self._metrics()
        return (
            f"{' and '.join(names)} of {self._config.name} is computed over all answers together, "
            "so single answers have no score; use `flybench lm-eval` to compute it per method, or "
            "a judge to grade the answers."
        )


def filtered(task: Any, doc: dict[str, Any], text: str) -> dict[str, str]:
    """Return the extracts of an answer by lm-eval's filters of `task`, by name."""
    from lm_eval.api.instance import Instance

    instance = Instance("generate_until", doc, ("", {}), 0)
    instance.resps = [text]
    for ensemble in task._filters:
        ensemble.apply([instance])
    return {name: str(answer) for name, answer in instance.filtered_resps.items()}


def _is_share(value: object) -> bool:
    return isinstance(value, numbers.Real) and 0 <= float(value) <= 1
