"""GSM8K as lm-eval defines it: its prompts, few-shots, stop strings, filters and metric.

Three rules judge every answer: lm-eval's `strict` and `flexible` filters with its exact match, and
`numeric`, the last number before any invented next question, compared as a number. `task.metric`
says which one is the accuracy.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

from flybench.config import TaskConfig
from flybench.core import FlybenchError, Prompt, Record, Score
from flybench.tasks.answers import as_number, last_number
from flybench.tasks.base import Judged, RowTask, row_of
from flybench.tasks.sources import by_id, local_file

FILTERS = {"strict-match": "strict", "flexible-extract": "flexible"}
INVALID = "[invalid]"
FEWSHOT_SEED = 1234  # what lm-eval's own command uses


class Gsm8kTask(RowTask):
    """lm-eval's `gsm8k`, with its few-shots as earlier turns of the conversation."""

    judged: Judged = "scored"
    runs_code = False

    def __init__(self, config: TaskConfig) -> None:
        self._task = _lm_eval_task(config.path)
        self._metric = config.metric or "numeric"
        own = self._task.config.num_fewshot
        self._fewshot = own if config.num_fewshot is None else config.num_fewshot
        available = len(self._task.fewshot_docs())
        if self._fewshot > available:
            raise FlybenchError(
                f"task.num_fewshot={self._fewshot} is more than the {available} samples that "
                "gsm8k has to show: lower it."
            )
        self._stop = tuple(self._task.config.generation_kwargs["until"])
        self._config = config
        docs = [{"id": f"gsm8k/{n}", **doc} for n, doc in enumerate(self._task.eval_docs)]
        self._rows = by_id(docs, "id", {"question": str, "answer": str})

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        # Few-shots are drawn one sample after another, so a prefix is the same whatever `count`.
        self._task.set_fewshot_seed(FEWSHOT_SEED)
        return [
            self._prompt(sample_id, doc) for sample_id, doc in islice(self._rows.items(), count)
        ]

    def score(self, record: Record) -> Score:
        doc = row_of(self._rows, record)
        text = record.turns[-1].text
        answers = {FILTERS[name]: answer for name, answer in self._filtered(doc, text).items()}
        metrics = {
            rule: float(self._task.process_results(doc, [answer])["exact_match"])
            for rule, answer in answers.items()
        }
        number = last_number(text)
        gold = as_number(doc["answer"].rsplit("####", 1)[-1])
        metrics["numeric"] = float(number is not None and number == gold)
        metrics |= {f"{rule}_failure": float(a == INVALID) for rule, a in answers.items()}
        metrics["extraction_failure"] = float(number is None)
        extracted = None if number is None else str(number)
        return Score(record.sample_id, record.method, metrics[self._metric], metrics, extracted)

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
        )
        return Prompt(
            sample_id=sample_id,
            messages=tuple(json.loads(conversation)),
            category="math",
            max_new_tokens=self._config.max_new_tokens,
            stop=self._stop,
        )


def _lm_eval_task(path: str | None) -> Any:
    """lm-eval's task object, on the hub's data or on `train.jsonl` and `test.jsonl` of a folder."""
    from lm_eval.tasks import TaskManager

    # Reading one recipe by path takes milliseconds; indexing all of lm-eval's takes ten seconds.
    recipes = Path(str(resources.files("lm_eval.tasks")))
    with tempfile.TemporaryDirectory() as folder:
        # lm-eval merges an included file with what follows it, and reads its hub data otherwise.
        config: dict[str, Any] = {"include": str(recipes / "gsm8k" / "gsm8k.yaml")}
        if path:
            # One file for both splits would show every question with its answer beforehand.
            if not Path(path).expanduser().is_dir():
                raise FlybenchError(
                    f"task.path={path} is not a folder: gsm8k needs one with train.jsonl and "
                    "test.jsonl."
                )
            files = {
                split: str(local_file(path, f"{split}.jsonl", f"gsm8k/{split}.jsonl"))
                for split in ("train", "test")
            }
            config |= {"dataset_path": "json", "dataset_name": None}
            config["dataset_kwargs"] = {"data_files": files}
        recipe = Path(folder, "gsm8k.yaml")
        recipe.write_text(json.dumps(config))
        try:
            return TaskManager(include_defaults=False).load(str(recipe))["tasks"]["gsm8k"]
        except Exception as error:
            raise FlybenchError(
                f"lm-eval could not load gsm8k ({type(error).__name__}): give task.path= a folder "
                "with GSM8K's train.jsonl and test.jsonl, or check that the hub can be reached."
            ) from error
