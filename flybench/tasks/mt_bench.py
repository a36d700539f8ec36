"""MT-Bench: 80 two-turn conversations; the second turn follows the method's own first answer.

Data: `task.path=` (question.jsonl) or the hub. Nothing judges the answers yet: speed and divergence
are measured, accuracy stays empty and the report says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from flybench.config import TaskConfig
from flybench.core import Prompt, Record, Score
from flybench.tasks.base import Judged, RowTask
from flybench.tasks.sources import by_id, local_file, read_hub, read_jsonl

FILES = ("question.jsonl", "mt_bench/question.jsonl")
REMEDY = "give task.path= the file question.jsonl of MT-Bench."


class MtBenchTask(RowTask):
    """Prompts of MT-Bench, unjudged."""

    judged: Judged = "unjudged"
    runs_code = False

    def __init__(self, config: TaskConfig) -> None:
        self._config = config
        if config.path:
            rows = read_jsonl(local_file(config.path, *FILES))
        else:
            # The hub's copy calls the same fields `prompt` and `prompt_id`.
            names = {"prompt": "turns", "prompt_id": "question_id"}
            hub = read_hub("HuggingFaceH4/mt_bench_prompts", "train", REMEDY)
            rows = [{names.get(key, key): value for key, value in row.items()} for row in hub]
        self._rows = by_id(rows, "question_id", {"turns": list, "category": str})

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        return [_prompt(row, self._config) for row in islice(self._rows.values(), count)]

    def score(self, record: Record) -> Score:
        return Score(record.sample_id, record.method, None, {}, None, "unjudged")


def _prompt(row: dict[str, Any], config: TaskConfig) -> Prompt:
    first, *followups = row["turns"]
    return Prompt(
        sample_id=str(row["question_id"]),
        messages=({"role": "user", "content": first},),
        followups=tuple(followups),
        category=row["category"],
        max_new_tokens=config.max_new_tokens,
    )
