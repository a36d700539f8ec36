"""Words of a command line that set something: `NAME=VALUE` and `GROUP.NAME=VALUE`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import yaml


def own_settings(
    arguments: Sequence[str], groups: Collection[str], names: Collection[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """A verb's settings `GROUP.NAME=…` and `NAME=…` as a tree, and what Hydra composes."""
    own: dict[str, Any] = {}
    rest = []
    for argument in arguments:
        name, equals, text = argument.partition("=")
        group, dot, key = name.partition(".")
        if equals and name in names:
            own[name] = text
        elif equals and dot and group in groups:
            own.setdefault(group, {})[key] = meant(text)
        else:
            rest.append(argument)
    return own, rest


def meant(text: str) -> Any:
    """What a setting's text means; YAML alone takes 1e-3 for a word."""
    try:
        value = yaml.safe_load(text)
        return float(value) if isinstance(value, str) else value
    except (ValueError, yaml.YAMLError):
        return text
