"""The one error that users see."""

from __future__ import annotations


class FlybenchError(Exception):
    """A problem that the user can solve; its text is one sentence with the remedy."""
