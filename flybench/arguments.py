"""What the verbs' command lines share."""

from __future__ import annotations

import argparse
from typing import NoReturn

from flybench.core import FlybenchError


class Parser(argparse.ArgumentParser):
    """A verb's arguments; a mistake is one sentence."""

    def __init__(self, verb: str) -> None:
        super().__init__(f"flybench {verb}", add_help=False)

    def error(self, message: str) -> NoReturn:
        raise FlybenchError(f"{self.prog}: {message}; see `flybench --help`.")
