"""Prompts and scoring rules: one file for each task, chosen by `task.kind`."""

from __future__ import annotations

from flybench.config import TaskConfig
from flybench.config.declared import declarations
from flybench.core.loading import load_class
from flybench.tasks.base import Task


def build_task(config: TaskConfig) -> Task:
    """Build the task of `config` and load its data.

    Raises:
        FlybenchError: the data cannot be found or read.
    """
    (declaration,) = declarations("tasks", config.kind)
    made: Task = load_class(declaration.file, declaration.class_name)(config)
    return made
