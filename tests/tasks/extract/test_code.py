"""Programs in answers: fenced in every way that models write, bare, quoted first, mended later."""

import pytest

from flybench.tasks.extract.code import program_in

CODE = "def f(x):\n    return x\n"
STUB = 'def f(x):\n    """Return x."""\n'
QUOTING = 'def f(x):\n    """Doc.\n\n    ```\n    f(3)\n    ```\n    """\n    return x\n'
FENCED = f"```python\n{CODE}```"


@pytest.mark.parametrize(
    "answer",
    [
        f"Here it is:\n```python\n{CODE}```\nDone.",
        f"```\n{CODE}```",
        f"```py\n{CODE}",  # cut at the cap, no closing fence
        f"```python\nprint('g')\n```\nthen\n{FENCED}",
        f"```python\nimport math\n\n{CODE}```",
        f"  ```python\n{CODE}  ```",
        f"Here: {FENCED}",
        f"1. {FENCED}",
        "\n".join(f"> {line}" for line in FENCED.splitlines()),
        f"\ufeff{FENCED}",
        f"~~~python\n{CODE}~~~",
        f"````python\n{CODE}````",
        f"You gave\n```python\n{STUB}    raise NotImplementedError\n```\nand it is\n{FENCED}",
        f"```python\ndef f(x):\n    return 0\n```\nThat is wrong. Rather:\n{FENCED}",
        f"{FENCED}\nTry it:\n```python\nprint(f(3))\n```",
        f"```python\n{QUOTING}```",
        "```python\nf = lambda x: x\n```",
        "```python\ndef g(x):\n    return x\n\nf = g\n```",
        f"Sure!\n{CODE}",
        f"{CODE}\nThis returns its argument.",
        f"import math\n\n{CODE}",
        "def g(x):\n    return x\n\ndef f(x):\n    return g(x)\n",
        f"Sure:\nfrom math import floor\ndef g(x):\n    return floor(x)\n\n{CODE}It works.",
    ],
)
def test_a_program_that_defines_the_function_is_found(answer: str) -> None:
    code = program_in(answer, "f")
    assert code is not None
    space: dict[str, object] = {}
    exec(code, space)
    assert space["f"](3) == 3  # type: ignore[operator]


def test_what_does_not_define_it_is_none() -> None:
    assert program_in("```python\ndef fold(x): pass\n```", "f") is None
    assert program_in("```python\nprint(f(3))\n```", "f") is None
    assert program_in("nothing here", "f") is None


def test_code_that_is_cut_off_is_kept_as_it_is() -> None:
    """So that the tests say what is wrong with it, rather than that there is none."""
    assert program_in("```python\ndef f(x):\n    return (x", "f") == "def f(x):\n    return (x\n"
    assert program_in("Sure.\ndef f(x):\n    return (x", "f") == "def f(x):\n    return (x"


def test_a_long_answer_is_read_in_no_time() -> None:
    prose = "This line is no Python at all, but there are many of it.\n" * 3000
    assert program_in(prose + CODE, "f") == CODE
    assert program_in("```\n" * 2000, "f") is None
