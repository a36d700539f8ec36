"""The exception for errors that the user can correct."""

from __future__ import annotations


class FlybenchError(Exception):
    """An error that the user can correct; its message is one sentence with the next step."""
