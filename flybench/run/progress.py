"""How far a sweep is, in answers: a bar on a terminal, elsewhere a line every half minute.

An answer is a sample under a method; one that several cells share, such as AR's, counts once.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from tqdm import tqdm

log = logging.getLogger(__name__)

LINE_EVERY_S = 30.0
LINE = "{n_fmt} of {total_fmt} answers, {rate_fmt}, {remaining} left: {desc}"


class Progress:
    """One count over all cells of a sweep, of which `there` answers are there already.

    `plain` keeps to lines, for a terminal that several processes write to; `silent` shows nothing.
    """

    def __init__(self, there: int = 0, plain: bool = False, silent: bool = False) -> None:
        self._silent = silent
        self._plain = plain or silent or not sys.stderr.isatty()
        self._there = self._done = self._total = self._told = there
        self._spent_s = 0.0
        self._told_s = time.monotonic()

    def expect(self, answers: int) -> None:
        """Set how many answers are still to come, of the cell at hand and of all after it."""
        self._total = self._done + answers

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Show the count while answers come; what lies between takes no time in its rate.

        The bar goes on where it was, and leaves the terminal to whatever is printed in between.
        """
        with open(os.devnull, "w") as nowhere, self._opened(nowhere) as self._bar:
            try:
                yield
            finally:
                self._done, self._spent_s = int(self._bar.n), self._bar.format_dict["elapsed"]
                if self._plain:
                    self._tell()

    def _opened(self, nowhere: TextIO) -> tqdm[Any]:
        bar: tqdm[Any] = tqdm(
            initial=self._there,
            total=self._total,
            unit="answer",
            # A bar that nobody sees keeps the count and the rate all the same.
            file=nowhere if self._plain else sys.stderr,
            mininterval=LINE_EVERY_S if self._plain else 0.1,
            delay=1e-9,  # nothing is drawn before it stands where it was
            leave=False,
        )
        bar.n = bar.last_print_n = self._done
        bar.start_t -= self._spent_s
        return bar

    def on(self, cell: str) -> None:
        """Name the cell that is being decoded."""
        self._bar.set_description_str(cell, refresh=not self._plain)

    def step(self) -> None:
        """Count an answer."""
        self._bar.update()
        if self._plain and time.monotonic() - self._told_s >= LINE_EVERY_S:
            self._tell()

    def _tell(self) -> None:
        self._told_s = time.monotonic()
        if self._silent or self._told == self._bar.n:
            return
        self._told = int(self._bar.n)
        shown = {**self._bar.format_dict, "bar_format": LINE, "ncols": None}
        log.info(tqdm.format_meter(**shown))
