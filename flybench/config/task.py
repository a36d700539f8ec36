"""The task: what is asked, and which rule scores the answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from flybench.config.checks import allow, named, positive
from flybench.config.declared import FILE, declarations, kinds
from flybench.core.errors import FlybenchError

LENGTHS = range(256, 131_073)


@dataclass(frozen=True)
class TaskConfig:
    """What is asked. `path` points at local files; `chat_template` is auto, none or a file.

    For `kind: lm_eval`, `name` is lm-eval's own, `recipe` a YAML file where it is not one of
    lm-eval's, and `columns` names those of a local table without a header; columns that the table
    lacks are null. `length` is that of a prompt of `kind: niah`, in tokens.
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
                    f"task.{field_name} with task.kind={self.kind} is not allowed: it is for "
                    "task=lm_eval."
                )
        fits = self.length in LENGTHS if self.kind == "niah" else self.length is None
        if not fits:
            raise FlybenchError(
                f"task.length={self.length} with task.kind={self.kind} is not allowed: kind=niah "
                f"needs {LENGTHS[0]} to {LENGTHS[-1]} tokens, and no other kind has a length."
            )
        if self.path == "":
            raise FlybenchError("task.path is empty: give a path, or null for the usual source.")

    def _metrics(self) -> tuple[str, ...]:
        """The values of `metric` that the task declares, its main one first."""
        (declared,) = declarations("tasks", self.kind)
        return tuple(declared.option("metrics", ()))
