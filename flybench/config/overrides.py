"""`key=value` words of a command line: the one parser of them, and how a value is written."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import yaml

# A path has its slash before any such sign; only Hydra's own groups have one in their names.
SETTING = re.compile(r"[+~]*(hydra/)?[A-Za-z_][\w.@:-]*=")
PLAIN = re.compile(r"[\w./:+@-]+")


class Override(NamedTuple):
    """One setting: `++method.k=8` has the key `method.k`, the value `8`, and itself as its text."""

    key: str
    value: str
    text: str

    @classmethod
    def parse(cls, word: str) -> Override:
        """Read a word with a `=`; Hydra's signs before the key are part of the text only."""
        key, _, value = word.partition("=")
        return cls(key.lstrip("+~"), value, word)

    @property
    def group(self) -> str:
        """The first part of the key: `method` of `method.k`, `hydra` of `hydra/launcher`."""
        return re.split(r"[.@/]", self.key)[0]


def split_overrides(words: Sequence[str]) -> tuple[list[Override], list[str]]:
    """The `key=value` words of a command line, and its options and positional arguments."""
    overrides = [Override.parse(word) for word in words if SETTING.match(word)]
    return overrides, [word for word in words if not SETTING.match(word)]


def split_settings(
    overrides: Sequence[Override], groups: Collection[str], names: Collection[str] = ()
) -> tuple[dict[str, Any], list[Override]]:
    """A verb's own settings `GROUP.NAME=…` and `NAME=…` as a tree, and the overrides of a run.

    Values of a group are parsed, those of `names` are text.
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
    """A value's text as plain data; YAML takes 1e-3 and inf for words, which are numbers here."""
    try:
        value = yaml.safe_load(text)
        return float(value) if isinstance(value, str) else value
    except (ValueError, yaml.YAMLError):
        return text


def write_value(value: object) -> str:
    """Plain data as Hydra's grammar reads it: text in quotes where it has special characters."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if not isinstance(value, str) or PLAIN.fullmatch(value):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
