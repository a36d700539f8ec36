"""Programs in answers: fenced in every way that models write, bare, quoted first, mended later."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest

from flybench.tasks.extract.code import program_in

CODE = "def f(x):\n    return x\n"
STUB = 'def f(x):\n    """Return x."""\n'
QUOTING = 'def f(x):\n    """Doc.\n\n    ```\n    f(3)\n    ```\n    """\n    return x\n'
FENCED = f"```python\n{CODE}```"


def function_in(answer: str) -> Callable[[int], int]:
    """What the program in `answer` makes of `f`."""
    code = program_in(answer, "f")
    assert code is not None
    space: dict[str, Any] = {"__name__": "answer"}
    exec(code, space)
    return cast(Callable[[int], int], space["f"])


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
    f = function_in(answer)
    assert f(3) == 3


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


TABLE = "table = {}\nfor i in range(9):\n    table[i] = i\n"
# Answers whose function is right, with what else models write.
RIGHT = {
    "a demo that reads input": f"```python\n{CODE}\nn = int(input())\nprint(f(n))\n```",
    "an endless demo": f"```python\n{CODE}\nwhile True:\n    pass\n```",
    "an exit": f"```python\nimport sys\n{CODE}\nsys.exit(0)\n```",
    "a wrong check": f"```python\n{CODE}\nassert f(2) == 3\n```",
    "a demo in a function": f"```python\n{CODE}\ndef main():\n    input()\n\nmain()\n```",
    "a demo over a loop": f"```python\n{CODE}\nfor x in [input()]:\n    print(f(x))\n```",
    "a missing package that a test needs": f"```python\nimport nowhere\n{CODE}```",
    "a placeholder behind": f"{FENCED}\nIt goes here:\n```python\ndef f(x):\n    ...\n```",
    "a stub with pass behind": f"{FENCED}\n```python\ndef f(x):\n    # TODO\n    pass\n```",
    "an import in a block of its own": (
        "```python\nimport operator\n```\nThen:\n"
        "```python\ndef f(x):\n    return operator.pos(x)\n```"
    ),
    "a helper behind": (
        "```python\ndef f(x):\n    return g(x)\n```\nwith\n```python\ndef g(x):\n    return x\n```"
    ),
    "tests in a block of their own": (
        f"{FENCED}\n```python\nimport nowhere\nfrom answer import f\nassert f(2) == 3\n```"
    ),
    "a fence behind the last line": f"```python\n{CODE.rstrip()}```\nThat is all.",
    "code on the opening fence": "```def f(x):\n    return x\n```",
    "a tag and code on the opening fence": "```python def f(x):\n    return x\n```",
    "the language below a bare fence": f"```\npython\n{CODE}```",
    "prose behind an unclosed block": f"```python\n{CODE}\nThis returns x as it is.",
    "prose within a block": f"```python\nHere it is:\n{CODE}\nIt works well.\n```",
    "a class": "```python\nclass Solution:\n    def f(self, x):\n        return x\n```",
    "a class with a state": (
        "```python\nfrom typing import List\n\nclass S:\n    def __init__(self):\n"
        "        self.add = 0\n    def f(self, x: List[int]):\n        return x + self.add\n```"
    ),
    "a static method": (
        "```python\nclass S:\n    @staticmethod\n    def f(x):\n        return x\n\n"
        "print(S.f(1))\n```"
    ),
    "a line separator in a string": "```python\ndef f(x):\n    s = 'a\u2028b'\n    return x\n```",
    "a form feed": "```python\ndef f(x):\n    s = 'a\x0cb'\n    return x\n```",
    "carriage returns": FENCED.replace("\n", "\r\n"),
    "a table filled before": f"```python\n{TABLE}def f(x):\n    return table[x]\n```",
    "a table filled behind": (
        "```python\ntable = {}\ndef f(x):\n    return table[x]\n"
        "for i in range(9):\n    table[i] = i\nprint(f(3))\n```"
    ),
    "a recursion limit": f"```python\nimport sys\nsys.setrecursionlimit(9000)\n{CODE}```",
    "a cache around it": (
        f"```python\nfrom functools import cache\n{CODE}f = cache(f)\nprint(f(1))\n```"
    ),
    "a decorator": f"```python\nfrom functools import cache\n\n@cache\n{CODE}```",
    "a star import": "```python\nfrom math import *\n\ndef f(x):\n    return floor(x)\n```",
    "a second try": f"```python\ndef f(x):\n    return 0\n```\nNo:\n{FENCED}\nUse: `f(3)`",
    "a demo between a stub and the function": (
        f"```python\n{STUB}    pass\n\nprint(f(int(input())))\n\n{CODE}```"
    ),
    "a return at the top level": f"```python\n{CODE}\nreturn f(3)\n```",
}


@pytest.mark.parametrize("answer", RIGHT.values(), ids=RIGHT)
def test_a_right_function_is_right_whatever_stands_around_it(answer: str) -> None:
    f = function_in(answer)
    assert f(3) == 3


WRONG = {
    "the last definition counts": f"```python\n{CODE}\ndef f(x):\n    return 0\n```",
    "the last block counts": f"{FENCED}\nRather:\n```python\ndef f(x):\n    return 0\n```",
    "rebound": f"```python\n{CODE}\nf = lambda x: 0\n```",
    "a helper that is missing": "```python\ndef f(x):\n    return g(x)\n```",
    "an import that is missing": "```python\ndef f(x):\n    return math.floor(x)\n```",
    "only a placeholder": "```python\ndef f(x):\n    ...\n```",
    "a method without self": "```python\nclass S:\n    def f(x):\n        return x\n```",
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
def test_a_wrong_function_stays_wrong(answer: str) -> None:
    f = function_in(answer)
    with suppress(NameError, TypeError):
        assert f(3) != 3


def test_what_is_whole_is_left_as_it_was_written() -> None:
    commented = "import math  # for floor\n\n\ndef f(x):  # one\n    return math.floor(x)\n"
    assert program_in(f"```python\n{commented}```", "f") == commented
