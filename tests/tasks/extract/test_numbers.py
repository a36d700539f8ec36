"""Numbers read from answers that people and models write."""

from decimal import Decimal

import pytest

from flybench.tasks.extract.numbers import as_number, final_number


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
def test_the_number_before_an_invented_question(text: str, number: str) -> None:
    assert final_number(text) == Decimal(number)


def test_no_number() -> None:
    assert final_number("I do not know.") is None
    assert as_number("twelve") is None


def test_numbers_compare_by_value() -> None:
    assert as_number("7.50") == as_number("7.5")


# What stands in an answer, and the number that it gives.
WRITTEN = {
    "LaTeX thousands": (r"So she keeps $\boxed{70{,}000}$.", "70000"),
    "thin LaTeX space": (r"\boxed{70\,000}", "70000"),
    "space as separator": ("That leaves 70 000 dollars.", "70000"),
    "no-break space": ("70\u202f000 francs", "70000"),
    "two groups": ("It is 1 234 567.", "1234567"),
    "Swiss": ("70'000 Franken", "70000"),
    "Indian": ("Rs 1,00,000 in all", "100000"),
    "a list of numbers is no group": ("They are 10,20", "20"),
    "numbers of different lengths are no group": ("rooms 5 12 300", "12300"),
    "separators do not mix": ("1,234 567", "567"),
    "years are no group": ("from 1999 to 2004", "2004"),
    "two numbers side by side": ("rooms 12 13", "13"),
    "currency behind a minus": ("In the end she has -$18.", "-18"),
    "euro behind a minus": ("−€18", "-18"),
    "currency before a minus": ("$-18", "-18"),
    "escaped dollar": (r"\boxed{\$18}", "18"),
    "subtraction": ("16-7", "7"),
    "a range": ("pages 3-18", "18"),
    "unit with an exponent": ("#### 18 ft^2", "18"),
    "exponent in braces": ("18 m^{2}", "18"),
    "exponent without a caret": ("It covers 18 m2", "18"),
    "superscript": ("It covers 18 m²", "18"),
    "Thai digits": ("คำตอบคือ ๑๘", "18"),
    "Devanagari digits": ("उत्तर १८ है", "18"),
    "remark": ("#### 18\n\n(9 eggs at $2 each)", "18"),
    "remark on the line": ("#### 18 (9 eggs at $2 each)", "18"),
    "equation": ("#### 9 x 2 = 18", "18"),
    "mark on a line of its own": ("####\n18", "18"),
    "run-on": ("= 18\n#### 18\n\nA crate holds 6 jars, and there are 6.\n#### 36", "18"),
    "mark without a number": ("#### done\nIt is 18.", "18"),
    "box before a remark": (r"\boxed{18} as 9 eggs cost 2 each", "18"),
    "box with text": (r"\boxed{18\text{ dollars at 2 each}}", "18"),
    "box with an equation": (r"\boxed{9 \times 2 = 18}", "18"),
    "box without braces": (r"$\boxed 18$, at 2 each", "18"),
    "last box": (r"\boxed{9}, so \boxed{18}. Check: 2", "18"),
    "unclosed box": (r"\boxed{18", "18"),
    "decimal": ("1,234.50", "1234.5"),
    "half": (".5", "0.5"),
}


@pytest.mark.parametrize(("text", "number"), WRITTEN.values(), ids=WRITTEN)
def test_what_people_write(text: str, number: str) -> None:
    assert final_number(text) == Decimal(number)


def test_a_gold_answer_is_read_likewise() -> None:
    assert as_number(" 1,200") == as_number("$1{,}200") == as_number("1 200") == 1200
    assert as_number("−$3") == -3


def test_a_looping_answer_is_read_in_no_time() -> None:
    assert final_number("It is 18. " + r"\boxed{" * 5000) == 18
