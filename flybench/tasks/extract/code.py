"""Extraction of a program from an answer with Python among prose.

A block may be fenced (with backticks or tildes, after a list mark, a quotation mark or a few
words), or not at all. It must parse and define the requested function.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

OPENING = re.compile(r"(?P<before>[^`~]*?)(?P<fence>`{3,}|~{3,})[ \t]*[\w+.-]*[^`~]*")
CLOSING = re.compile(r"[>\s]*(?P<fence>`{3,}|~{3,})\s*")
MAX_CODE_LINES = 1000  # maximum number of lines searched for unfenced code
NESTED = 8  # maximum number of nested fences tried per block


def program_in(text: str, name: str) -> str | None:
    """Return the code that defines `name`; None if there is none.

    Of several blocks it is the last one that parses: models quote the question first, and correct
    themselves later. If none parses, it is the first that starts to define `name`, such as a
    truncated one.
    """
    lines = text.lstrip("\ufeff").splitlines()
    header = re.compile(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(name)}\b", re.MULTILINE)
    whole, incomplete = [], []
    for candidates in _blocks(lines):
        fitting = [block for block in candidates if _defines(block, name)]
        whole += fitting[:1]
        incomplete += [block for block in candidates[:1] if header.search(block)]
    if whole or incomplete:
        return whole[-1] if whole else incomplete[0]
    bare = _bare(lines, name, header)
    found = header.search(text)
    return bare if bare or not found else text[found.start() :]


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield the candidates of every opening fence: up to the first closing fence, the second, …"""
    after = 0
    for start, line in enumerate(lines):
        opening = OPENING.fullmatch(line)
        if opening is None or start < after:
            continue
        closings = [
            number
            for number, other in enumerate(lines[start + 1 :], start + 1)
            if (closing := CLOSING.fullmatch(other))
            and closing["fence"].startswith(opening["fence"])
        ]
        bar = opening["before"].lstrip().startswith(">")
        ends = [*closings[:NESTED], len(lines)]
        yield [_block(lines[start + 1 : end], bar) for end in ends]
        after = ends[0] + 1


def _block(lines: list[str], quoted: bool) -> str:
    own = [re.sub(r"^\s*> ?", "", line) for line in lines] if quoted else lines
    return textwrap.dedent("".join(f"{line}\n" for line in own))


def _bare(lines: list[str], name: str, header: re.Pattern[str]) -> str | None:
    """Return the longest run of lines around a definition that is valid Python, with imports and
    helpers."""
    places = [number for number, line in enumerate(lines[:MAX_CODE_LINES]) if header.match(line)]
    for place in reversed(places):
        ends = range(min(len(lines), place + MAX_CODE_LINES), place, -1)
        end = next((end for end in ends if _parsed(_block(lines[place:end], False))), None)
        if end is not None:
            starts = range(max(0, place - MAX_CODE_LINES), place + 1)
            whole = (_block(lines[start:end], False) for start in starts)
            return next((block for block in whole if _defines(block, name)), None)
    return None


def _defines(code: str, name: str) -> bool:
    """Return whether it is Python code whose top level defines or assigns `name`."""
    tree = _parsed(code)
    if tree is None:
        return False
    defined = {
        node.name
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    assigned = {
        target.id
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    return name in defined | assigned


def _parsed(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
