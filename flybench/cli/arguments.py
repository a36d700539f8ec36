"""What the verbs' command lines share."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

import yaml

from flybench.core import FlybenchError


class Parser(argparse.ArgumentParser):
    """A verb's arguments; a mistake is one sentence."""

    def __init__(self, verb: str) -> None:
        super().__init__(f"flybench {verb}", add_help=False)

    def error(self, message: str) -> NoReturn:
        raise FlybenchError(f"{self.prog}: {message}; see `flybench --help`.")


def planned_only(arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """Whether `--dry-run` asks for the plan alone, and the other words."""
    rest = [argument for argument in arguments if argument != "--dry-run"]
    return len(rest) < len(arguments), rest


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
