"""MBPP+'s comparison of an answer with the reference solution, as in EvalPlus.

`mbpp_plus.py` passes the source of this file into the sandbox and calls `check` there. It may
import only the standard library.
"""

import math
from collections.abc import Callable
from typing import Any

RTOL = 1e-7
FLOATS_ATOL = (
    1e-6  # of a problem that names no tolerance and whose answer is a float, or all floats
)
# The order and multiplicity of what these return are irrelevant.
AS_SETS = (
    *("similar_elements", "find_char_long", "common_in_nested_lists", "extract_singly"),
    *("larg_nnum", "intersection_array", "find_dissimilar", "Diff"),
)
# These return a match or None; only whether they match is compared.
FOUND = ("check_str", "text_match_three", "text_starta_endb")


def check(function: Callable[..., Any], name: str, solution: str, inputs: str, atol: float) -> None:
    """Call `function` with every argument list of `inputs`, a list as Python source.

    AssertionError: an answer is not that of `solution`, a source text that defines `name`.
    """
    reference: dict[str, Any] = {}
    exec(solution, reference)
    constants = {"inf": math.inf, "nan": math.nan}
    # Read twice, because a function may change what it is given.
    ours, theirs = eval(inputs, dict(constants)), eval(inputs, dict(constants))
    for number, (own, other) in enumerate(zip(ours, theirs, strict=True)):
        expected = reference[name](*other)
        shown = repr(own)[:200]
        found = function(*own)
        arguments = eval(inputs, dict(constants))[number] if name in ORACLES else ()
        assert same(name, found, expected, arguments, atol), f"{name}{shown} is {found!r:.200}"


def same(name: str, found: Any, expected: Any, arguments: Any, atol: float) -> bool:
    """Return whether `found` equals `expected` by the rule of the problem `name`."""
    if name in AS_SETS:
        return set(found) == set(expected)
    if name in FOUND:
        there = expected is not None
        return (found if isinstance(found, bool) else found is not None) == there
    if found == expected or (name in ORACLES and ORACLES[name](found, atol, *arguments)):
        return True
    if atol == 0 and _floats(expected):
        atol = FLOATS_ATOL
    return bool(atol) and type(found) is type(expected) and _close(found, expected, atol)


def _floats(value: Any) -> bool:
    if isinstance(value, (list, tuple)) and value:
        return all(isinstance(item, float) for item in value)
    return isinstance(value, float)


def _close(found: Any, expected: Any, atol: float) -> bool:
    if isinstance(expected, (list, tuple)):
        pairs = zip(found, expected, strict=False)
        return len(found) == len(expected) and all(_close(f, e, atol) for f, e in pairs)
    return bool(found == expected or abs(found - expected) <= atol + RTOL * abs(expected))


def _height_not_slant(found: Any, atol: float, base: float, height: float) -> bool:
    """Return a pyramid's surface, with the second argument as its height."""
    surface = base**2 + 2 * base * math.hypot(base / 2, height)
    return bool(abs(found - round(surface)) <= atol)


def _padded_digits(found: Any, atol: float, first: int, second: int) -> bool:
    """Return the distance of two numbers' digits, the shorter one padded with zeros."""
    width = max(len(str(first)), len(str(second)))
    digits = zip(str(first).zfill(width), str(second).zfill(width), strict=True)
    return bool(found == sum(abs(int(one) - int(other)) for one, other in digits))


# Problems whose text allows another answer than the reference's.
ORACLES: dict[str, Callable[..., bool]] = {
    "are_equivalent": lambda found, atol, *arguments: True,
    "sum_div": lambda found, atol, *arguments: found == 0,
    "surface_Area": _height_not_slant,
    "digit_distance_nums": _padded_digits,
}
