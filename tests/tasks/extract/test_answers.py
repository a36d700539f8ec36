"""Reading numbers, code and words out of answers."""

from decimal import Decimal

import pytest

from flybench.tasks.extract.answers import as_number, contains_words, last_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The answer is $18.", "18"),
        ("#### 18", "18"),
        (r"\boxed{18}", "18"),
        ("18.00", "18"),
        ("18...", "18"),
        ("so 1,234.50 dollars", "1234.50"),
        ("it is -7", "-7"),
        ("a .5 share", "0.5"),
        ("she pays 3-4 times, 12 in all", "12"),
        ("It is 18.\n\nQuestion: what is 7 + 2?", "18"),
        ("It is 18.\nQ2: and 9?", "18"),
        ("\nProblem: how many?\nThey are 18.", "18"),
        ("It is −18.", "-18"),
    ],
)
def test_last_number_before_an_invented_question(text: str, number: str) -> None:
    assert last_number(text) == Decimal(number)


def test_no_number() -> None:
    assert last_number("I do not know.") is None
    assert as_number("twelve") is None


def test_numbers_compare_by_value() -> None:
    assert as_number("7.50") == as_number("7.5")


def test_words_match_whole() -> None:
    assert contains_words("It takes 4 trips.", "4")
    assert not contains_words("It takes 40 trips.", "4")
    assert contains_words("C'est MARDI !", "mardi")
    assert contains_words("first  boil\nwater", "boil water")
