"""Any task of lm-eval that writes an answer: its prompts, few-shots, stop strings, and metrics.

lm-eval makes the prompts before anything is timed, and scores what the records hold afterwards.
Few-shots are earlier turns of the conversation. A metric is named `METRIC,FILTER`, as lm-eval does.
"""

from __future__ import annotations

import json
import numbers
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from flybench.checks import suggestion
from flybench.config import TaskConfig, digest
from flybench.core import FlybenchError, Prompt, Record, Score
from flybench.tasks.base import Judged, RowTask, row_of
from flybench.tasks.recipes import load_recipe, shots
from flybench.tasks.sources import by_id

FEWSHOT_SEED = 1234  # what lm-eval's own command uses
ROW = "flybench row"


class LmEvalTask(RowTask):
    """A `generate_until` task of lm-eval."""

    judged: Judged = "scored"
    runs_code = False
    _left_out: tuple[str, ...] = ()  # settings of the recipe whose code is not wanted

    def __init__(self, config: TaskConfig) -> None:
        self._task, self._recipe = load_recipe(config, self._left_out)
        self._config = config
        own = self._task.config.num_fewshot or 0
        self._fewshot = own if config.num_fewshot is None else config.num_fewshot
        available = shots(self._task) if self._fewshot else 0
        if self._fewshot > available:
            raise FlybenchError(
                f"task.num_fewshot={self._fewshot} is more than the {available} samples that "
                f"{config.name} has to show: lower it, or put them into task.path= as train.jsonl."
            )
        asked = self._task.config.generation_kwargs
        until = asked.get("until") or []
        stops = map(str, [until] if isinstance(until, str) else until)
        self._stop = tuple(stop for stop in stops if stop)
        self.caution = _caution(config, asked)
        self._metric = self._main_metric()
        # The data may have a column "id" of their own.
        docs = [{**doc, ROW: f"{config.name}/{n}"} for n, doc in enumerate(self._task.eval_docs)]
        self._rows = by_id(docs, ROW, self._fields())

    @property
    def data_sha256(self) -> str:
        return digest([list(self._rows.values()), self._recipe])

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        # Few-shots are drawn one sample after another, so a prefix is the same whatever `count`.
        self._task.set_fewshot_seed(FEWSHOT_SEED)
        return [
            self._prompt(sample_id, doc) for sample_id, doc in islice(self._rows.items(), count)
        ]

    def score(self, record: Record) -> Score:
        doc, reason = row_of(self._rows, record), ""
        found: dict[str, Any] = {}
        try:
            answers = self._filtered(doc, record.turns[-1].text)
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
            # Left out, the answers that happen to lie between would stand for all.
            raise FlybenchError(
                f"{self._metric} gives an answer {float(value):g}, and accuracy wants a metric "
                "from 0 to 1: set task.metric= to another, or scale it in the recipe."
            )
        if correct is None and not reason:
            reason = f"{self._metric} is no number from 0 to 1 for a single answer"
        extracted = answers.get(self._metric.rpartition(",")[2])
        return Score(record.sample_id, record.method, correct, metrics, extracted, reason)

    def _fields(self) -> dict[str, type]:
        """Columns that the data must have."""
        return {}

    def _main_metric(self) -> str:
        config = self._task.config
        filters = [one.name for one in self._task._filters]
        better = self._task.higher_is_better()
        metrics = [row["metric"] for row in config.metric_list or [] if better[row["metric"]]]
        names = [f"{metric},{name}" for metric in metrics for name in filters]
        if not names:
            raise FlybenchError(
                f"task.name={self._config.name} has no metric of which more is better: add one to "
                "the metric_list of its recipe."
            )
        wanted = self._config.metric or names[0]
        if wanted not in names:
            raise FlybenchError(
                f"task.metric={wanted} is not a metric of {self._config.name}: use one of "
                f"{'; '.join(names)}{suggestion(wanted, names)}."
            )
        return wanted

    def _filtered(self, doc: dict[str, Any], text: str) -> dict[str, str]:
        from lm_eval.api.instance import Instance

        instance = Instance("generate_until", doc, ("", {}), 0)
        instance.resps = [text]
        for ensemble in self._task._filters:
            ensemble.apply([instance])
        return {name: str(answer) for name, answer in instance.filtered_resps.items()}

    def _prompt(self, sample_id: str, doc: dict[str, Any]) -> Prompt:
        # lm-eval hands the messages to a template; taking them back as JSON keeps them apart.
        conversation = self._task.fewshot_context(
            doc,
            num_fewshot=self._fewshot,
            apply_chat_template=True,
            fewshot_as_multiturn=True,
            chat_template=lambda messages, add_generation_prompt: json.dumps(messages),
            gen_prefix=self._task.doc_to_prefix(doc),
        )
        return Prompt(
            sample_id=sample_id,
            messages=tuple(json.loads(conversation)),
            category=self._category,
            max_new_tokens=self._config.max_new_tokens,
            stop=self._stop,
        )

    @property
    def _category(self) -> str:
        return self._config.name


def _is_share(value: object) -> bool:
    return isinstance(value, numbers.Real) and 0 <= float(value) <= 1


def _caution(config: TaskConfig, asked: Mapping[str, Any]) -> str | None:
    """What the recipe says of decoding and a run does otherwise."""
    apart = {name: value for name, value in asked.items() if name not in ("until", "max_gen_toks")}
    if not asked.get("do_sample") and not asked.get("temperature"):
        apart = {}  # greedy, whatever else is said of drawing
    if asked.get("max_gen_toks", config.max_new_tokens) != config.max_new_tokens:
        apart["max_gen_toks"] = asked["max_gen_toks"]
    if not apart:
        return None
    said = ", ".join(f"{name}={value}" for name, value in sorted(apart.items()))
    return (
        f"The recipe of {config.name} says {said}; here task.max_new_tokens="
        f"{config.max_new_tokens} and sampling= decide, so that lm-eval's own figures can differ."
    )
