"""Conversations of one or two turns; a second turn follows the method's own first answer.

MT-Bench: 80 questions of two turns, from `task.path=` (question.jsonl) or the Hugging Face Hub.
Spec-Bench: 480 questions of six subtasks, of which MT-Bench is one, only from `task.path=`. No rule
can score such answers: either a judge model grades them (`flybench/score/judge`), or accuracy is
left undefined and the report says so.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import Any

from flybench.config import TaskConfig
from flybench.core.declare import task
from flybench.core.errors import FlybenchError
from flybench.core.samples import Prompt, Record, Score
from flybench.tasks.base import Judged, RowTask
from flybench.tasks.sources import Rows, by_id, local_file, read_hub, read_rows

SINGLE_TURN = {"translation", "summarization", "qa", "math_reasoning", "rag"}


class ConversationTask(RowTask):
    """Prompts of a file question.jsonl, with its reference answers, if any."""

    judged: Judged = "unjudged"
    runs_code = False

    def __init__(self, config: TaskConfig) -> None:
        self._config = config
        files = ("question.jsonl", f"{config.kind}/question.jsonl")
        rows = read_rows(local_file(config.path, *files)) if config.path else self._from_hub()
        self._rows = by_id(rows, "question_id", {"turns": list, "category": str})

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        return [self._prompt(row) for row in islice(self._rows.values(), count)]

    def score(self, record: Record) -> Score:
        return Score(record.sample_id, record.method, None, {}, None, "unjudged")

    @abstractmethod
    def _from_hub(self) -> Rows:
        """Return the questions from the Hub, if no file is named."""

    def _category(self, row: dict[str, Any]) -> str:
        return str(row["category"])

    def _prompt(self, row: dict[str, Any]) -> Prompt:
        first, *followups = row["turns"]
        return Prompt(
            sample_id=str(row["question_id"]),
            messages=({"role": "user", "content": first},),
            followups=tuple(followups),
            category=self._category(row),
            max_new_tokens=self._config.max_new_tokens,
            references=tuple(str(text or "") for text in row.get("reference") or ()),
        )


@task("mt_bench")
class MtBenchTask(ConversationTask):
    """MT-Bench with its eight categories."""

    def _from_hub(self) -> Rows:
        # The Hub's copy names the same fields `prompt` and `prompt_id`.
        names = {"prompt": "turns", "prompt_id": "question_id"}
        remedy = "set task.path= to the file question.jsonl of MT-Bench."
        rows = read_hub("HuggingFaceH4/mt_bench_prompts", "train", remedy)
        return [{names.get(key, key): value for key, value in row.items()} for row in rows]


@task("spec_bench")
class SpecBenchTask(ConversationTask):
    """Spec-Bench with its six subtasks."""

    def _from_hub(self) -> Rows:
        raise FlybenchError(
            "Spec-Bench is not on the Hugging Face Hub: set task.path= to the file "
            "data/spec_bench/question.jsonl of github.com/hemingkx/Spec-Bench."
        )

    def _category(self, row: dict[str, Any]) -> str:
        found = super()._category(row)
        return found if found in SINGLE_TURN else "multi-turn conversation"
