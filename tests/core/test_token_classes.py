"""The class of a loose token, by its text, the favourite's and the place."""

from __future__ import annotations

import pytest

from flybench.core.token_classes import CLASSES, classify, continues_copy

CODE = "Here:\n\n```python\ndef total(xs):\n    "


@pytest.mark.parametrize(
    ("text", "top1", "expected"),
    [
        (" Here", "<|im_end|>", "ending"),
        ("</s>", " the", "ending"),
        (" 7", " seven", "digit"),
        (" three", " four", "digit"),
        ("x2", "x", "digit"),
        (" +", " -", "sign or unit"),
        (" -", " is", "sign or unit"),
        (" −", " and", "sign or unit"),
        (" *", " times", "sign or unit"),
        ("---", " Then", "format"),
        (" km", " miles", "sign or unit"),
        (" hours", " minutes", "sign or unit"),
        (" Mr", " Ms", "other"),
        (" not", " now", "negation"),
        ("n't", " the", "negation"),
        ("'t", " be", "negation"),
        ("’t", " be", "negation"),
        (" couldn", " could", "negation"),
        (" False", " True", "negation"),
        (" nicht", " auch", "negation"),
        (" jamais", " plus", "negation"),
        (" don't", " do", "negation"),
        ("'s", " is", "other"),
        (" min", " max", "other"),
        ("```", "Here", "format"),
        ("\n\n", " and", "format"),
        ("**", " It", "format"),
        ('"', " the", "quote or copy"),
        ("total_count", "total", "identifier"),
        ("getName", " name", "identifier"),
        (" the", " a", "function word"),
        (",", " and", "function word"),
        (" big", " large", "other"),
        (" the", " house", "other"),
    ],
)
def test_the_first_class_that_fits(text: str, top1: str, expected: str) -> None:
    assert classify(text, top1) == expected
    assert expected in CLASSES


@pytest.mark.parametrize(
    ("text", "top1", "before", "expected"),
    [
        ("-", "First", "Steps:\n", "format"),
        ("*", "First", "Steps:\n  ", "format"),
        ("-", "First", "", "format"),
        ("-", " and", "Steps: 7 ", "sign or unit"),
        (" total", " count", CODE + "return", "identifier"),
        (" y", " x", CODE + "return", "identifier"),
        (" return", " if", CODE, "other"),
        (".append", ".extend", CODE + "xs", "identifier"),
        ("(char", "([", CODE + "print", "identifier"),
        (" big", " large", CODE + "# a", "other"),
        (" big", " large", CODE + '"""A', "other"),
        ("python", "py", "Here:\n\n```", "other"),
        (" big", " large", CODE + "return 1\n```\nIt is", "other"),
    ],
)
def test_the_place_decides_between_two_meanings(
    text: str, top1: str, before: str, expected: str
) -> None:
    assert classify(text, top1, before) == expected


def test_a_copy_is_one_but_for_what_is_graver() -> None:
    assert classify(" big", " large", copied=True) == "quote or copy"
    assert classify(" 7", " 8", copied=True) == "digit"


@pytest.mark.parametrize(
    ("ids", "top1", "copies"),
    [
        ([1, 2, 3, 4, 5, 9, 1, 2, 3, 4], 5, True),
        ([1, 2, 3, 4, 5, 9, 1, 2, 3, 4], 6, False),
        ([1, 2, 3, 4, 5, 9, 9, 2, 3, 4], 5, False),
        ([7, 7, 7, 7, 7], 7, True),
        ([1, 2, 3], 4, False),
        ([], 4, False),
    ],
)
def test_a_favourite_that_goes_on_with_a_copy(ids: list[int], top1: int, copies: bool) -> None:
    assert continues_copy(ids, top1) == copies
