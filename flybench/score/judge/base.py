"""The interface of a judge, and the key of its verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from flybench.config import digest
from flybench.core.samples import Message

Messages = tuple[Message, ...]


class Reply(NamedTuple):
    """The reply of a judge; `finish` is `length` if it was truncated."""

    text: str
    finish: str | None
    tokens_in: int | None
    tokens_out: int | None


def checked(reply: Reply) -> Reply:
    """Return a reply from an untrusted source after checking its types.

    Raises:
        TypeError: a type is wrong.
    """
    kinds = (str, str | None, int | None, int | None)
    if not all(isinstance(value, kind) for value, kind in zip(reply, kinds, strict=True)):
        raise TypeError("a reply needs a text and optional token counts")
    return reply


class CallFailed(Exception):
    """A failed call of a judge; the message has the reason and contains no secrets."""


class Judge(Protocol):
    """A model that gives verdicts."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """The settings that a verdict depends on, apart from the question.

        Raises:
            FlybenchError: the model cannot be found.
        """

    def check(self) -> None:
        """Check that the judge is available, before any decoding.

        Raises:
            FlybenchError: the judge is not available.
        """

    def prepare(self, asked: Sequence[Messages]) -> None:
        """Prepare for these questions."""

    def ask(self, messages: Messages) -> Reply:
        """Ask one question. Up to the configured concurrency, several threads may call this.

        Raises:
            CallFailed: the judge did not answer.
        """


def key_of(identity: Mapping[str, Any], messages: Messages) -> str:
    """Return the hash of a question and of the judge's identity."""
    return digest({"judge": identity, "messages": messages})
