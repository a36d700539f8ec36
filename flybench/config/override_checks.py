"""Checks of the names and types of overrides against the groups' files and the dataclasses.

They do not import Hydra, so a typo is reported immediately.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from flybench.config.checks import build, field_type, required, suggestion
from flybench.config.component import ComponentConfig
from flybench.config.declared import FILE
from flybench.config.groups import GROUPS, files, read_yaml
from flybench.config.overrides import Override, parse_value
from flybench.config.run import RunConfig
from flybench.core.errors import FlybenchError

# Names separated by commas; anything else is left to Hydra's grammar.
NAMES = re.compile(r"[\w.-]+(,[\w.-]+)*")
WORD = re.compile(r"[A-Za-z][\w-]*")
ELSEWHERE = ("hydra", "experiment")


def check_names(overrides: Iterable[Override], config_dir: Path | None) -> None:
    """Check that every override names an existing setting and an existing option.

    Raises:
        FlybenchError: one does not; the error suggests the closest setting or option.
    """
    overrides = list(overrides)
    # The settings of a user's drafter or rule are known only after composing.
    own = config_dir is not None or any(FILE in override.value for override in overrides)
    for override in overrides:
        if override.key.partition("@")[0] in GROUPS:
            _check_option(override, config_dir)
        elif override.group not in ELSEWHERE and not (own and override.key.count(".") > 1):
            _check_setting(override)


def check_option(group: str, name: str, known: Iterable[str]) -> None:
    """Check that a group has the option `name`."""
    known = list(known)
    if name not in known:
        raise FlybenchError(
            f"{group}={name} does not exist: choose one of {', '.join(known)}"
            f"{suggestion(name, known)}."
        )


def _check_option(override: Override, config_dir: Path | None) -> None:
    if NAMES.fullmatch(override.value) and not override.text.startswith("~"):
        known = {file.stem: file for file in files(override.group, config_dir)}
        for name in override.value.split(","):
            check_option(override.group, name, known)
            read_yaml(known[name])  # unlike Hydra, its error names the file


def _check_setting(override: Override) -> None:
    kind: Any = RunConfig
    path = ""
    for name in override.key.partition("@")[0].split("."):
        if not is_dataclass(required(kind)):  # not a group of settings: `build` reports it
            return
        path = f"{path}.{name}".lstrip(".")
        if issubclass(required(kind), ComponentConfig):
            required(kind).check_name(name)
            return
        kind = field_type(required(kind), name, path)
    if required(kind) in (int, float, bool) and WORD.fullmatch(override.value):
        build(kind, parse_value(override.value), override.key)
