"""Logging to stderr, compatible with progress bars."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

DEBUG = "FLYBENCH_DEBUG"


@contextmanager
def logging_to_stderr() -> Iterator[None]:
    """Write log messages of the package to stderr: INFO and above, DEBUG with `FLYBENCH_DEBUG=1`.

    The logger is restored afterwards, for processes that call commands as functions.
    """
    logger = logging.getLogger("flybench")
    before = logger.handlers, logger.level, logger.propagate
    handler = _Stderr()
    handler.setFormatter(_Formatter("%(message)s"))
    # If another library configures the root logger, propagated messages would appear twice.
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.DEBUG if os.environ.get(DEBUG) else logging.INFO)
    try:
        yield
    finally:
        logger.handlers, logger.propagate = before[0], before[2]
        logger.setLevel(before[1])


class _Formatter(logging.Formatter):
    """Adds the name of the program to errors."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return f"flybench: {text}" if record.levelno >= logging.ERROR else text


class _Stderr(logging.Handler):
    """Writes to the current stderr, above the progress bars if there are any."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
            if "tqdm" in sys.modules:  # importing it takes 0.1 s
                sys.modules["tqdm"].tqdm.write(text, file=sys.stderr)
            else:
                print(text, file=sys.stderr)
            sys.stderr.flush()
        except Exception:
            self.handleError(record)
