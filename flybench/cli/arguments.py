"""What the verbs' command lines share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from flybench.core.errors import FlybenchError


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
