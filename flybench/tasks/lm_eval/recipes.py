"""lm-eval's task recipes: look-up by name, checks, and reading.

A recipe is a YAML file of lm-eval, or one like it.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from flybench.config import TaskConfig
from flybench.config.checks import suggestion
from flybench.core.errors import FlybenchError
from flybench.tasks.lm_eval.recipe_data import own_data

SHOWN = 12  # members of a group that a message names


def load_recipe(config: TaskConfig, left_out: Collection[str] = ()) -> tuple[Any, dict[str, Any]]:
    """Return lm-eval's task object for `config.name`, and the settings of its recipe.

    With settings `left_out`, none of the recipe's code is run.

    Raises:
        FlybenchError: the task does not exist, its data cannot be read, or its kind is not
            supported.
    """
    from lm_eval.tasks import TaskManager

    recipe = _recipe_file(config)
    settings = _read(recipe)
    _refuse(config.name, settings)
    # lm-eval merges an included file with what follows it, and reads its Hub data otherwise.
    kept = {name: value for name, value in settings.items() if name not in left_out}
    whole = kept if left_out else {"include": str(recipe)}
    whole |= own_data(config, settings) if config.path else {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, recipe.name)
        file.write_text(json.dumps(whole))
        try:
            # Reading one recipe by path takes milliseconds; indexing all of lm-eval's, seconds.
            (task,) = TaskManager(include_defaults=False).load(str(file))["tasks"].values()
        except ImportError as error:
            raise FlybenchError(
                f"{config.name} needs packages that are not installed ({_first_line(error)}): "
                "install them first."
            ) from error
        except Exception as error:  # lm-eval and datasets raise many kinds
            remedy = "set task.path= to its data, or check that the Hugging Face Hub is reachable"
            if config.path:
                remedy = (
                    f"check that {config.path} has the data that the recipe {recipe.name} reads"
                )
            raise FlybenchError(
                f"lm-eval could not load {config.name} ({type(error).__name__}: "
                f"{_first_line(error)}): {remedy}."
            ) from error
    return task, settings


def recipe_settings(name: str) -> dict[str, Any]:
    """Return the settings of lm-eval's recipe `name`, without running its code."""
    return _read(_recipe_file(TaskConfig(name, "lm_eval")))


def filled(template: str, row: Mapping[str, Any]) -> str:
    """Return a template of a recipe, filled with the fields of a row."""
    from lm_eval.utils import apply_template

    return str(apply_template(template, row))


def _read(recipe: Path) -> dict[str, Any]:
    from lm_eval.tasks._yaml_loader import load_yaml

    try:
        settings: dict[str, Any] = load_yaml(recipe, resolve_func=False)
    except Exception as error:  # YAML's kinds, and lm-eval's for files that are not recipes
        raise FlybenchError(
            f"{recipe.name} is not an lm-eval recipe ({type(error).__name__}): check the file."
        ) from error
    return settings


def _first_line(error: Exception) -> str:
    said = str(error.__cause__ or error).strip() or type(error).__name__
    return said.splitlines()[0].split(". ")[0].rstrip(".")


def _recipe_file(config: TaskConfig) -> Path:
    if config.recipe is not None:
        file = Path(config.recipe).expanduser()
        if not file.is_file():
            raise FlybenchError(f"task.recipe={config.recipe} does not exist: check the path.")
        return file.resolve()
    files = _files_of(config.name)
    if len(files) == 1:
        return files[0]
    # A group, or no task at all: only the index tells, and only for these is it built.
    index = _index()
    entry = index.get(config.name)
    if entry is None:
        raise FlybenchError(
            f"task.name={config.name} is not a task of lm-eval"
            f"{suggestion(config.name, list(index))}: `lm_eval ls tasks` lists them, or give "
            "task.recipe= a YAML file."
        )
    members = (entry.cfg or {}).get("task")
    if not isinstance(members, str):
        tagged = [n for n, e in index.items() if config.name in ((e.cfg or {}).get("tag") or [])]
        listed = [str(member) for member in members or tagged]
        raise FlybenchError(
            f"task.name={config.name} is a group of tasks in lm-eval: name one of them, such as "
            f"{', '.join(listed[:SHOWN]) or 'those in its folder'}."
        )
    return Path(entry.yaml_path)


def _files_of(name: str) -> list[Path]:
    """lm-eval's recipes of the task `name`: their `task:` line says so.

    Reading all 14,000 files takes a quarter of a second; lm-eval's own index takes eight.
    """
    quoted = rb"[\"']?" + re.escape(name.encode()) + rb"[\"']?"
    called = re.compile(rb"^[\"']?task[\"']?:\s*" + quoted + rb"\s*(#.*)?$", re.M)
    recipes = Path(str(resources.files("lm_eval.tasks"))).rglob("*.yaml")
    return [file for file in recipes if called.search(file.read_bytes())]


@cache
def _index() -> Mapping[str, Any]:
    from lm_eval.tasks import TaskManager

    found: Mapping[str, Any] = TaskManager().task_index
    return found


def _refuse(name: str, settings: Mapping[str, Any]) -> None:
    kind = settings.get("output_type", "generate_until")
    if kind != "generate_until":
        raise FlybenchError(
            f"task.name={name} is not allowed, because it compares likelihoods ({kind}): choose a "
            "task that generates text (generate_until)."
        )
    if settings.get("unsafe_code"):
        raise FlybenchError(
            f"task.name={name} is not allowed, because lm-eval runs programs without a sandbox: "
            "use task=humaneval_instruct, humaneval or mbpp."
        )
    if settings.get("repeats", 1) != 1:
        raise FlybenchError(
            f"task.name={name} is not allowed, because it needs {settings['repeats']} answers per "
            "question: choose a task with one."
        )


def fewshot_count(task: Any) -> int:
    """Return the number of few-shot examples of a task that are not among its samples."""
    config, own = task.config, task.fewshot_cfg
    asked = config.test_split or config.validation_split
    # lm-eval's search order; without another split, it would show the test samples.
    source = own.split
    if source is None and own.samples is None:
        source = config.training_split or config.validation_split or asked
    return 0 if source == asked else len(task.fewshot_docs())
