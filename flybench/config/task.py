"""Settings of the task: its prompts and its scoring rule."""

from __future__ import annotations

from dataclasses import dataclass, field

from flybench.config.checks import allow, named, positive
from flybench.config.declared import FILE, declarations, kinds
from flybench.core.errors import FlybenchError

LENGTHS = range(256, 131_073)


@dataclass(frozen=True)
class TaskConfig:
    """Settings of the task.

    `path` is a local file or folder; `chat_template` is auto, none or a file. For `kind: lm_eval`,
    `name` is the name of lm-eval's task, `recipe` a YAML file for a task that lm-eval does not
    have, and `columns` the column names of a local table without a header (columns that the table
    lacks are null). `length` is the prompt length of `kind: niah`, in tokens.
    """

    name: str
    kind: str
    path: str | None = None
    max_new_tokens: int = 512
    chat_template: str = "auto"
    num_fewshot: int | None = None
    metric: str | None = None
    recipe: str | None = None
    columns: tuple[str, ...] | None = None
    length: int | None = None
    description: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        named("task.name", self.name)
        if not self.kind.startswith(FILE):  # a finished run is read without its file
            allow("task.kind", self.kind, (*kinds("tasks"), f"{FILE}PATH.py:CLASS"))
        positive("task.max_new_tokens", self.max_new_tokens)
        if self.metric is not None and self.kind != "lm_eval":
            allow("task.metric", self.metric, self._metrics() or ("null",))
        if self.num_fewshot is not None and self.num_fewshot < 0:
            raise FlybenchError(
                f"task.num_fewshot={self.num_fewshot} is not allowed: use 0 or more."
            )
        for field_name in ("recipe", "columns"):
            if getattr(self, field_name) is not None and self.kind != "lm_eval":
                raise FlybenchError(
                    f"task.{field_name} with task.kind={self.kind} is not allowed: remove it, or "
                    "use task=lm_eval."
                )
        fits = self.length in LENGTHS if self.kind == "niah" else self.length is None
        if not fits:
            raise FlybenchError(
                f"task.length={self.length} with task.kind={self.kind} is not allowed: kind=niah "
                f"needs {LENGTHS[0]} to {LENGTHS[-1]} tokens, and other kinds have no length."
            )
        if self.path == "":
            raise FlybenchError("task.path is empty: set a path, or null for the default source.")

    def _metrics(self) -> tuple[str, ...]:
        """Return the values of `metric` that the task declares, the main one first."""
        (declared,) = declarations("tasks", self.kind)
        return tuple(declared.option("metrics", ()))
