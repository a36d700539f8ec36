"""Notes of a command on stderr: the messages that the package logs, beside progress bars too."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

DEBUG = "FLYBENCH_DEBUG"


@contextmanager
def logging_to_stderr() -> Iterator[None]:
    """Write what the package logs to stderr: INFO and above, all of it with `FLYBENCH_DEBUG=1`.

    Afterwards the logger is as it was, for a process that calls commands as functions.
    """
    logger = logging.getLogger("flybench")
    before = logger.handlers, logger.level, logger.propagate
    handler = _Stderr()
    handler.setFormatter(_Formatter("%(message)s"))
    # Other libraries that set up the root logger would show every message twice.
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.DEBUG if os.environ.get(DEBUG) else logging.INFO)
    try:
        yield
    finally:
        logger.handlers, logger.propagate = before[0], before[2]
        logger.setLevel(before[1])


class _Formatter(logging.Formatter):
    """Errors with the program's name before them, everything else as it is."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return f"flybench: {text}" if record.levelno >= logging.ERROR else text


class _Stderr(logging.Handler):
    """Lines on the stderr of the moment, above the progress bars if there are any."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
            if "tqdm" in sys.modules:  # it takes a tenth of a second to import
                sys.modules["tqdm"].tqdm.write(text, file=sys.stderr)
            else:
                print(text, file=sys.stderr)
            sys.stderr.flush()
        except Exception:
            self.handleError(record)
