"""Parser of the `key=value` arguments of a command line, and the writer of values."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import yaml

# A path has a slash before any `=`; only Hydra's own groups have one in their names.
SETTING = re.compile(r"[+~]*(hydra/)?[A-Za-z_][\w.@:-]*=")
PLAIN = re.compile(r"[\w./:+@-]+")


class Override(NamedTuple):
    """One override: `++method.k=8` has the key `method.k`, the value `8` and its full text."""

    key: str
    value: str
    text: str

    @classmethod
    def parse(cls, word: str) -> Override:
        """Parse an argument with a `=`; Hydra's prefixes `+`, `++` and `~` stay in `text` only."""
        key, _, value = word.partition("=")
        return cls(key.lstrip("+~"), value, word)

    @property
    def group(self) -> str:
        """The first part of the key: `method` for `method.k`, `hydra` for `hydra/launcher`."""
        return re.split(r"[.@/]", self.key)[0]


def split_overrides(words: Sequence[str]) -> tuple[list[Override], list[str]]:
    """Split a command line into its `key=value` overrides and all other arguments."""
    overrides = [Override.parse(word) for word in words if SETTING.match(word)]
    return overrides, [word for word in words if not SETTING.match(word)]


def split_settings(
    overrides: Sequence[Override], groups: Collection[str], names: Collection[str] = ()
) -> tuple[dict[str, Any], list[Override]]:
    """Split overrides into a verb's settings, as a tree, and the settings of runs.

    `GROUP.NAME=…` of `groups` are parsed; `NAME=…` of `names` stay text.
    """
    own: dict[str, Any] = {group: {} for group in groups}
    rest = []
    for override in overrides:
        if override.key in names:
            own[override.key] = override.value
        elif override.group in groups:
            own[override.group][override.key.partition(".")[2]] = parse_value(override.value)
        else:
            rest.append(override)
    return own, rest


def parse_value(text: str) -> Any:
    """Parse a value as YAML, except that 1e-3 and inf are numbers and not strings."""
    try:
        value = yaml.safe_load(text)
        return float(value) if isinstance(value, str) else value
    except (ValueError, yaml.YAMLError):
        return text


def write_value(value: object) -> str:
    """Write plain data in Hydra's grammar; text with special characters is quoted."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if not isinstance(value, str) or PLAIN.fullmatch(value):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
