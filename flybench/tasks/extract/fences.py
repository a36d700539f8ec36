"""Code blocks in an answer, fenced in every way that models write.

| fence | read as |
|---|---|
| backticks or tildes, three or more | closed by as many or more of the same |
| after a list mark, a quotation mark or a few words | the same, without the marks |
| code on the line of a fence | a line of the block |
| a language on the line below a bare fence | no line of the block |
| a fence within a docstring | part of the block, if the block then parses |
| no closing fence | up to the end of the answer |
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

OPENING = re.compile(r"(?P<before>[^`~]*?)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`~]*)")
CLOSING = re.compile(r"(?P<code>.*?)(?P<fence>`{3,}|~{3,})\s*")
LANGUAGE = re.compile(r"(?:python3?|py)\b[ \t]*", re.IGNORECASE)
STATEMENT = re.compile(r"(?:async |def |class |from |import |@|#)")
NESTED = 8  # maximum number of nested fences tried per block


def lines_of(text: str) -> list[str]:
    """Return the lines of a text as Python reads them; a string may hold other line separators."""
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def fenced_blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield the candidates of every opening fence: up to the first closing fence, the second, …"""
    after = 0
    for start, line in enumerate(lines):
        opening = OPENING.fullmatch(line)
        if opening is None or start < after:
            continue
        closings = list(_closings(lines, start + 1, opening["fence"]))
        first = _first_line(opening["info"])
        quoted = opening["before"].lstrip().startswith(">")
        ends = [*closings[:NESTED], (len(lines), "")]
        yield [
            block([*first, *lines[start + 1 : end], *([code] if code else [])], quoted)
            for end, code in ends
        ]
        after = ends[0][0] + 1


def block(lines: list[str], quoted: bool = False) -> str:
    """Return lines as a program, without a common indentation and marks of a quotation."""
    own = [re.sub(r"^\s*> ?", "", line) for line in lines] if quoted else lines
    if own and LANGUAGE.fullmatch(own[0].strip()):
        own = own[1:]
    return textwrap.dedent("".join(f"{line}\n" for line in own))


def _first_line(info: str) -> list[str]:
    """Return the code on an opening fence's line."""
    code = LANGUAGE.sub("", info, count=1)
    return [code] if STATEMENT.match(code) else []


def _closings(lines: list[str], start: int, fence: str) -> Iterator[tuple[int, str]]:
    """Yield the number of each line that closes a block, and the code before its fence."""
    for number in range(start, len(lines)):
        closing = CLOSING.fullmatch(lines[number])
        if closing and closing["fence"].startswith(fence):
            yield number, closing["code"] if closing["code"].strip("> \t") else ""
