"""What a judge promises, and what decides its verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from flybench.config import digest
from flybench.core.samples import Message

Messages = tuple[Message, ...]


class Reply(NamedTuple):
    """What a judge wrote; `finish` is `length` where it was cut off at its cap."""

    text: str
    finish: str | None
    tokens_in: int | None
    tokens_out: int | None


def checked(reply: Reply) -> Reply:
    """The same reply, which came from outside.

    Raises:
        TypeError: it is of other types than a reply's.
    """
    kinds = (str, str | None, int | None, int | None)
    if not all(isinstance(value, kind) for value, kind in zip(reply, kinds, strict=True)):
        raise TypeError("a reply holds a text, and counts of tokens if any")
    return reply


class CallFailed(Exception):
    """One question stays unanswered; the text says why and holds no secret."""


class Judge(Protocol):
    """A model that is asked for verdicts."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything but the question that decides a verdict.

        Raises:
            FlybenchError: the model cannot be found.
        """

    def check(self) -> None:
        """Find out, before anything expensive, whether questions can be asked.

        Raises:
            FlybenchError: they cannot.
        """

    def prepare(self, asked: Sequence[Messages]) -> None:
        """Get ready for these questions."""

    def ask(self, messages: Messages) -> Reply:
        """Ask one question; several threads may, up to the configured concurrency.

        Raises:
            CallFailed: it stays unanswered.
        """


def key_of(identity: Mapping[str, Any], messages: Messages) -> str:
    """A hash of everything that decides a verdict."""
    return digest({"judge": identity, "messages": messages})
