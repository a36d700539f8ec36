"""MBPP+'s inputs as its functions expect them: JSON has no tuples, sets or complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Arguments = list[Any]


def as_python(task_id: str, inputs: list[Arguments]) -> list[Arguments]:
    """Return the argument lists of a problem from JSON, with their original types.

    Raises:
        ValueError, TypeError, IndexError: they are not those of this problem.
    """
    convert = CONVERSIONS.get(int(task_id.rpartition("/")[2]))
    return [convert(arguments) for arguments in inputs] if convert else inputs


def _tuples(value: Any, levels: int) -> Any:
    """Convert lists down to `levels` to tuples."""
    if levels == 0 or not isinstance(value, list):
        return value
    return tuple(_tuples(item, levels - 1) for item in value)


def _inner(value: list[Any]) -> list[Any]:
    """Convert the lists in a list to tuples."""
    return [_tuples(item, 1) for item in value]


def _each(arguments: Arguments) -> Arguments:
    return _inner(arguments)


def _each_inner(arguments: Arguments) -> Arguments:
    return [_inner(argument) for argument in arguments]


def _each_and_inner(arguments: Arguments) -> Arguments:
    return [_tuples(argument, 2) for argument in arguments]


def _first(arguments: Arguments) -> Arguments:
    return [_tuples(arguments[0], 1), *arguments[1:]]


def _first_inner(arguments: Arguments) -> Arguments:
    return [_inner(arguments[0]), *arguments[1:]]


def _second(arguments: Arguments) -> Arguments:
    return [arguments[0], _tuples(arguments[1], 1)]


def _whole(arguments: Arguments) -> Arguments:
    return [_tuples(argument, 100) for argument in arguments]


def _sets(arguments: Arguments) -> Arguments:
    # An empty set is written as an empty list, and read as an empty dictionary.
    return [[set(item) if isinstance(item, list) and item else {} for item in arguments[0]]]


def _values(arguments: Arguments) -> Arguments:
    return [{key: tuple(value) for key, value in arguments[0].items()}, *arguments[1:]]


def _complex(arguments: Arguments) -> Arguments:
    return [complex(arguments[0])]


def _float_and_complex(arguments: Arguments) -> Arguments:
    return [float(arguments[0]), complex(arguments[1])]


EACH = (
    *(2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424, 429, 470, 560, 579, 596, 616, 630),
    *(726, 740, 744, 809),
)
EACH_INNER = (63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780)
KINDS: dict[Callable[[Arguments], Arguments], tuple[int, ...]] = {
    _each: EACH,
    _each_inner: EACH_INNER,
    _each_and_inner: (259, 278, 401, 445),
    _first: (250, 307, 405, 446, 617, 720, 763, 808),
    _first_inner: (75, 413, 444, 753),
    _second: (106, 750),
    _whole: (580, 615, 791),
    _sets: (115,),
    _values: (722,),
    _complex: (252,),
    _float_and_complex: (124,),
}
CONVERSIONS = {number: convert for convert, numbers in KINDS.items() for number in numbers}
