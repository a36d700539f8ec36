"""The groups of `conf/` and their options, including the user's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

import flybench
from flybench.core.errors import FlybenchError

GROUPS = ("model", "method", "task", "engine", "sampling", "judge")
CHOICES = (*GROUPS, "experiment")  # an experiment selects runs and is not a setting of one


def conf_dir() -> Path:
    """Return the built-in `conf/`: inside the installed package, or next to it in a checkout."""
    package = Path(flybench.__file__).resolve().parent
    installed = package / "conf"
    return installed if installed.is_dir() else package.parent / "conf"


def options(group: str, config_dir: Path | None = None) -> dict[str, str]:
    """Return the names and descriptions of a group's files, including the user's."""
    return {file.stem: _described(file) for file in files(group, config_dir)}


def files(group: str, config_dir: Path | None = None) -> list[Path]:
    """Return a group's files: the built-in ones, then the user's.

    Raises:
        FlybenchError: a user's file has the name of a built-in one and different contents; Hydra
            would read only the built-in one.
    """
    ours = {file.name: file for file in sorted((conf_dir() / group).glob("*.yaml"))}
    own = [] if config_dir is None else sorted((config_dir / group).glob("*.yaml"))
    for file in own:
        if file.name in ours and read_yaml(file) != read_yaml(ours[file.name]):
            raise FlybenchError(
                f"{file} has the same name as a built-in {group}: rename it, and select it with "
                f"{group}=NAME."
            )
    return [*ours.values(), *(file for file in own if file.name not in ours)]


def _described(file: Path) -> str:
    """Return a file's description, or its first line if that is a comment."""
    described = str(read_yaml(file).get("description", ""))
    first = file.read_text(encoding="utf-8").partition("\n")[0]
    return described or (first.removeprefix("# ") if first.startswith("# ") else "")


def read_yaml(file: Path) -> dict[str, Any]:
    """Read a YAML file of settings.

    Raises:
        FlybenchError: it is not text, not YAML, or not a mapping.
    """
    try:
        tree = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeError) as error:
        raise FlybenchError(
            f"{file} is not valid YAML ({str(error).splitlines()[0]}): correct or remove it."
        ) from error
    if not isinstance(tree, dict):
        raise FlybenchError(f"{file} is not a group of settings: write key: value lines.")
    return tree
