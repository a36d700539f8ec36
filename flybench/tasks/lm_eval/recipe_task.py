"""Prompts of a recipe of lm-eval: its questions, few-shots and stop strings.

lm-eval renders them before anything is timed. Few-shot examples are earlier turns of the
conversation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from flybench.config import TaskConfig, digest
from flybench.core.errors import FlybenchError
from flybench.core.samples import Message, Prompt
from flybench.tasks.base import Judged, RowTask
from flybench.tasks.lm_eval.recipes import fewshot_count, load_recipe
from flybench.tasks.sources import by_id

FEWSHOT_SEED = 1234  # what lm-eval's own command uses
ROW = "flybench row"


class RecipeTask(RowTask):
    """Prompts of a `generate_until` task of lm-eval; a subclass scores the answers."""

    judged: Judged = "scored"
    runs_code = False
    _left_out: tuple[str, ...] = ()  # settings of the recipe whose code is not wanted

    def __init__(self, config: TaskConfig) -> None:
        self._task, self._recipe = load_recipe(config, self._left_out)
        self._config = config
        own = self._task.config.num_fewshot or 0
        self._fewshot = own if config.num_fewshot is None else config.num_fewshot
        available = fewshot_count(self._task) if self._fewshot else 0
        if self._fewshot > available:
            raise FlybenchError(
                f"task.num_fewshot={self._fewshot} is more than the {available} examples that "
                f"{config.name} has: lower it, or add examples to task.path= as train.jsonl."
            )
        asked = self._task.config.generation_kwargs
        until = asked.get("until") or []
        stops = map(str, [until] if isinstance(until, str) else until)
        self._stop = tuple(stop for stop in stops if stop)
        self.caution = _ignored_settings(config, asked)
        # The data may have a column "id" of their own.
        docs = [{**doc, ROW: f"{config.name}/{n}"} for n, doc in enumerate(self._task.eval_docs)]
        self._rows = by_id(docs, ROW, self._fields())

    @property
    def data_sha256(self) -> str:
        return digest([list(self._rows.values()), self._recipe])

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        # Few-shot examples are drawn sample by sample, so any prefix is independent of `count`.
        self._task.set_fewshot_seed(FEWSHOT_SEED)
        return [
            self._prompt(sample_id, doc) for sample_id, doc in islice(self._rows.items(), count)
        ]

    def _fields(self) -> dict[str, type]:
        """Return the columns that the data must have."""
        return {}

    def _prompt(self, sample_id: str, doc: dict[str, Any]) -> Prompt:
        return Prompt(
            sample_id=sample_id,
            messages=self._messages(doc),
            category=self._category,
            max_new_tokens=self._config.max_new_tokens,
            stop=self._stop,
        )

    def _messages(self, doc: dict[str, Any]) -> tuple[Message, ...]:
        """Return the conversation; without a chat template, lm-eval's text as one message."""
        plain = self._config.chat_template == "none"
        # lm-eval passes the messages to a template; this one returns them as JSON instead.
        found = self._task.fewshot_context(
            doc,
            num_fewshot=self._fewshot,
            apply_chat_template=not plain,
            fewshot_as_multiturn=True,
            chat_template=lambda messages, add_generation_prompt: json.dumps(messages),
            gen_prefix=self._task.doc_to_prefix(doc),
        )
        return ({"role": "user", "content": found},) if plain else tuple(json.loads(found))

    @property
    def _category(self) -> str:
        return self._config.name


def _ignored_settings(config: TaskConfig, asked: Mapping[str, Any]) -> str | None:
    """Return the decoding settings of the recipe that a run does not follow."""
    apart = {name: value for name, value in asked.items() if name not in ("until", "max_gen_toks")}
    if not asked.get("do_sample") and not asked.get("temperature"):
        apart = {}  # greedy, whatever the other sampling settings are
    if asked.get("max_gen_toks", config.max_new_tokens) != config.max_new_tokens:
        apart["max_gen_toks"] = asked["max_gen_toks"]
    if not apart:
        return None
    said = ", ".join(f"{name}={value}" for name, value in sorted(apart.items()))
    return (
        f"The recipe of {config.name} sets {said}; flybench uses task.max_new_tokens="
        f"{config.max_new_tokens} and sampling= instead, so results of lm-eval can differ."
    )
