"""Names and types of overrides, checked against the groups' files and the dataclasses.

Hydra is not needed for it, so a typo is refused at once.
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

# Names with commas between them; anything else is of Hydra's grammar, which reads it.
NAMES = re.compile(r"[\w.-]+(,[\w.-]+)*")
WORD = re.compile(r"[A-Za-z][\w-]*")
ELSEWHERE = ("hydra", "experiment")


def check_names(overrides: Iterable[Override], config_dir: Path | None) -> None:
    """Refuse an override of a setting or to an option that does not exist.

    Raises:
        FlybenchError: there is one; the error names the closest setting or option.
    """
    overrides = list(overrides)
    # A drafter or a rule of the user's own has settings that only composing can find.
    own = config_dir is not None or any(FILE in override.value for override in overrides)
    for override in overrides:
        if override.key.partition("@")[0] in GROUPS:
            _check_option(override, config_dir)
        elif override.group not in ELSEWHERE and not (own and override.key.count(".") > 1):
            _check_setting(override)


def check_option(group: str, name: str, known: Iterable[str]) -> None:
    """Refuse an option that a group does not have."""
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
            read_yaml(known[name])  # names the file, which Hydra's errors do not


def _check_setting(override: Override) -> None:
    kind: Any = RunConfig
    path = ""
    for name in override.key.partition("@")[0].split("."):
        if not is_dataclass(required(kind)):  # what is no group of settings is refused when built
            return
        path = f"{path}.{name}".lstrip(".")
        if issubclass(required(kind), ComponentConfig):
            required(kind).check_name(name)
            return
        kind = field_type(required(kind), name, path)
    if required(kind) in (int, float, bool) and WORD.fullmatch(override.value):
        build(kind, parse_value(override.value), override.key)
