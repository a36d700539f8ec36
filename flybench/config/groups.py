"""The groups of `conf/`: what there is to choose from, the user's own files included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

import flybench
from flybench.core.errors import FlybenchError

GROUPS = ("model", "method", "task", "engine", "sampling", "judge")
CHOICES = (*GROUPS, "experiment")  # a sweep of runs is no setting of one


def conf_dir() -> Path:
    """The shipped `conf/`: inside the installed package, or beside it in a checkout."""
    package = Path(flybench.__file__).resolve().parent
    installed = package / "conf"
    return installed if installed.is_dir() else package.parent / "conf"


def options(group: str, config_dir: Path | None = None) -> dict[str, str]:
    """Names and descriptions of a group's files, the user's own included."""
    return {file.stem: _described(file) for file in files(group, config_dir)}


def files(group: str, config_dir: Path | None = None) -> list[Path]:
    """A group's files, the user's own after those that come with flybench.

    Raises:
        FlybenchError: one of the user's has the name of another that says something else, of which
            Hydra would read ours alone.
    """
    ours = {file.name: file for file in sorted((conf_dir() / group).glob("*.yaml"))}
    own = [] if config_dir is None else sorted((config_dir / group).glob("*.yaml"))
    for file in own:
        if file.name in ours and read_yaml(file) != read_yaml(ours[file.name]):
            raise FlybenchError(
                f"{file} has the name of a {group} that comes with flybench: give it a name of its "
                f"own, and use it as {group}=NAME."
            )
    return [*ours.values(), *(file for file in own if file.name not in ours)]


def _described(file: Path) -> str:
    """A file's description, or the comment that it begins with."""
    described = str(read_yaml(file).get("description", ""))
    first = file.read_text(encoding="utf-8").partition("\n")[0]
    return described or (first.removeprefix("# ") if first.startswith("# ") else "")


def read_yaml(file: Path) -> dict[str, Any]:
    """A YAML file of settings.

    Raises:
        FlybenchError: it is not text, not YAML, or not a group of settings.
    """
    try:
        tree = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeError) as error:
        raise FlybenchError(
            f"{file} is not YAML ({str(error).splitlines()[0]}): mend it or move it away."
        ) from error
    if not isinstance(tree, dict):
        raise FlybenchError(f"{file} is not a group of settings: write it as key: value lines.")
    return tree
