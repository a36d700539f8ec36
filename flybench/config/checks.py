"""Shared checks of configuration values, and conversion of plain data to dataclasses.

Every error message is one sentence with the value, the allowed values and, for a typo, the closest
match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from flybench.core.errors import FlybenchError

MAX_COUNT = 1_000_000_000
NAME = re.compile(r"\w[\w.+-]{0,79}")
TYPE_NAMES = {bool: "true or false", int: "a whole number", float: "a number, or inf", str: "text"}


def allow(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Check that `value` is one of `allowed`; the error suggests the closest one."""
    if value not in allowed:
        raise FlybenchError(
            f"{name}={value} is not known: choose one of {', '.join(allowed)}"
            f"{suggestion(value, allowed)}."
        )


def positive(name: str, value: int) -> None:
    """Check that `value` is at least 1 and below `MAX_COUNT`."""
    if not 1 <= value < MAX_COUNT:
        raise FlybenchError(
            f"{name}={value} is not allowed: use a whole number of at least 1, below {MAX_COUNT:,}."
        )


def share(name: str, value: float) -> None:
    """Check that `value` is between 0 and 1, both excluded."""
    if not 0 < value < 1:
        raise FlybenchError(f"{name}={value:g} is not allowed: use a number between 0 and 1.")


def named(name: str, value: str) -> None:
    """Check that a name can be part of a folder's name."""
    if not NAME.fullmatch(value):
        raise FlybenchError(
            f"{name}={value[:100]!r} is not allowed: use up to 80 letters, digits and . _ + -, "
            "because it becomes part of a folder's name."
        )


def explain(error: Exception) -> str:
    """Return one sentence about any exception, for the command line."""
    if isinstance(error, FlybenchError):
        return str(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return (
            f"{where}{error.strerror or error}; check the path, its permissions and the free disk "
            "space."
        )
    message = (str(error).strip() or "no message").splitlines()[0]
    return (
        f"unexpected error ({type(error).__name__}: {message}); run the command again with "
        "FLYBENCH_DEBUG=1 for the traceback, and report it."
    )


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean X)` if a known word is close, else an empty string."""
    close = get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]})" if close else ""


_hints = cache(get_type_hints)


def build(kind: Any, value: Any, path: str) -> Any:
    """Convert plain data to `kind`, a dataclass or a field's type.

    Raises:
        FlybenchError: a key is unknown or a value is not allowed; the error has its dotted path.
    """
    if hasattr(kind, "from_tree") and path:  # the class has its own conversion
        return kind.from_tree(value)
    if isinstance(kind, type) and is_dataclass(kind):
        if not isinstance(value, dict):
            raise FlybenchError(
                f"{path or 'the configuration'}={value!r} is not allowed: it is a group of "
                "settings, so write key: value lines as the files in conf/ do."
            )
        given = {
            key: build(field_type(kind, key, _join(path, key)), item, _join(path, key))
            for key, item in value.items()
        }
        try:
            return kind(**given)
        except TypeError as error:
            raise FlybenchError(
                f"{path or 'the configuration'} is incomplete ({error}): add the missing setting."
            ) from error
    return _scalar(kind, value, path)


def field_type(kind: Any, name: str, path: str) -> Any:
    """Return the type of a dataclass's field.

    Raises:
        FlybenchError: there is no such field; the error names `path`.
    """
    names = [entry.name for entry in fields(kind)]
    if name not in names:
        raise FlybenchError(
            f"{path} is not a setting: choose one of {', '.join(names)}"
            f"{suggestion(str(name), names)}."
        )
    return _hints(kind)[name]


def required(kind: Any) -> Any:
    """Return `X` for the type `X | None`, and any other type unchanged."""
    options = [option for option in get_args(kind) if option is not type(None)]
    return options[0] if type(None) in get_args(kind) else kind


def _scalar(kind: Any, value: Any, path: str) -> Any:
    if type(None) in get_args(kind):
        return None if value is None else build(required(kind), value, path)
    if get_origin(kind) is tuple:
        inner = get_args(kind)
        if inner[1:] == (Ellipsis,):
            if isinstance(value, list | tuple):
                return tuple(build(inner[0], item, path) for item in value)
            raise FlybenchError(f"{path}={value!r} must be a list.")
        if isinstance(value, list | tuple) and len(value) == len(inner):
            return tuple(build(k, v, path) for k, v in zip(inner, value, strict=True))
        raise FlybenchError(f"{path}={value!r} must be a list of {len(inner)} values.")
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise FlybenchError(f"{path}={value!r} must be {TYPE_NAMES[kind]}.")


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else str(key)
