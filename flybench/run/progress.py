"""Progress of a sweep in answers: a progress bar on a terminal, or else one line every 30 s.

An answer is one sample decoded with one method; shared answers, such as AR's, count once.
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
    """The count of answers over all cells of a sweep; `done` answers are on disk at the start.

    `plain` logs lines, for a terminal that several processes write to; `silent` logs nothing.
    """

    def __init__(self, done: int = 0, plain: bool = False, silent: bool = False) -> None:
        self._silent = silent
        self._plain = plain or silent or not sys.stderr.isatty()
        self._initial = self._done = self._total = self._printed = done
        self._spent_s = 0.0
        self._printed_s = time.monotonic()

    def expect(self, answers: int) -> None:
        """Set the number of remaining answers, of the current cell and all later ones."""
        self._total = self._done + answers

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Show the count while decoding; other work does not count towards the rate.

        The bar continues where it was, and is hidden while other output is printed.
        """
        with open(os.devnull, "w") as nowhere, self._opened(nowhere) as self._bar:
            try:
                yield
            finally:
                self._done, self._spent_s = int(self._bar.n), self._bar.format_dict["elapsed"]
                if self._plain:
                    self._print_line()

    def _opened(self, nowhere: TextIO) -> tqdm[Any]:
        bar: tqdm[Any] = tqdm(
            initial=self._initial,
            total=self._total,
            unit="answer",
            # The hidden bar keeps the count and the rate.
            file=nowhere if self._plain else sys.stderr,
            mininterval=LINE_EVERY_S if self._plain else 0.1,
            delay=1e-9,  # nothing is drawn before the count is restored
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
        if self._plain and time.monotonic() - self._printed_s >= LINE_EVERY_S:
            self._print_line()

    def _print_line(self) -> None:
        self._printed_s = time.monotonic()
        if self._silent or self._printed == self._bar.n:
            return
        self._printed = int(self._bar.n)
        shown = {**self._bar.format_dict, "bar_format": LINE, "ncols": None}
        log.info(tqdm.format_meter(**shown))
