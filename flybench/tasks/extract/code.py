"""Extraction of a program from an answer with Python among prose.

| in the answer | in the program |
|---|---|
| several blocks that define the function | the last one whose body is not a placeholder |
| a function within a class | that method, bound to an instance |
| imports and helpers in blocks of their own | as far as the function needs them |
| statements before the function, such as a recursion limit | kept |
| a demo, a check or an exit after it | left out, as EvalPlus does |
| statements after it that fill a table of the function | kept |
| prose within a block, or no fence at all | the longest run of lines that parses |
| nothing that parses | the first text that begins to define the function, for the tests to fail |
"""

from __future__ import annotations

import ast
import re

from flybench.tasks.extract.fences import block, fenced_blocks, lines_of
from flybench.tasks.extract.needed import needed_statements

MAX_CODE_LINES = 1000  # maximum number of lines searched for unfenced code


def program_in(text: str, name: str) -> str | None:
    """Return the code that defines `name`; None if there is none."""
    lines = lines_of(text)
    header = re.compile(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(name)}\b", re.MULTILINE)
    pieces, incomplete = [], []
    for candidates in fenced_blocks(lines):
        whole = _whole(candidates, name, header)
        pieces += [whole] if whole else []
        incomplete += [each for each in candidates[:1] if header.search(each)]
    if not any(_defines(piece, name) for piece in pieces):
        if incomplete:
            return incomplete[0]
        bare = _bare(lines, name, header)
        if bare is None:
            found = header.search(text)
            return text[found.start() :] if found else None
        pieces = [bare]
    return _assembled(pieces, name)


def _whole(candidates: list[str], name: str, header: re.Pattern[str]) -> str | None:
    """Return the candidate of a block that defines `name`, else its part, else one that parses."""
    for candidate in candidates:
        if _defines(candidate, name):
            return candidate
    if header.search(candidates[0]):
        return _bare(candidates[0].split("\n"), name, header)
    return next((each for each in candidates if (tree := parsed(each)) and tree.body), None)


def _assembled(pieces: list[str], name: str) -> str:
    """Return the last piece that defines `name`, with what it needs of the others."""
    defining = [piece for piece in pieces if _defines(piece, name)]
    real = [piece for piece in defining if not _placeholder(piece, name)]
    own = (real or defining)[-1]
    tree = parsed(own)
    assert tree is not None, "a piece that defines a name parses"
    others = [parsed(piece) for piece in pieces if piece is not own]
    owner = _owner(tree, name)
    if owner is not None:
        tree.body += ast.parse(f"{name} = {owner}().{name}").body
    try:
        kept = needed_statements(tree, [each for each in others if each], name)
        written = "\n\n".join(map(ast.unparse, kept)) + "\n"
    except RecursionError:
        return own
    return own if owner is None and kept == tree.body else written  # with its comments if whole


def _bare(lines: list[str], name: str, header: re.Pattern[str]) -> str | None:
    """Return the longest run of lines around a definition that is valid Python, with imports and
    helpers."""
    places = [number for number, line in enumerate(lines[:MAX_CODE_LINES]) if header.match(line)]
    for place in reversed(places):
        ends = range(min(len(lines), place + MAX_CODE_LINES), place, -1)
        end = next((end for end in ends if parsed(block(lines[place:end]))), None)
        if end is not None:
            starts = range(max(0, place - MAX_CODE_LINES), place + 1)
            runs = (block(lines[start:end]) for start in starts)
            return next((run for run in runs if _defines(run, name)), None)
    return None


def _functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    body = getattr(tree, "body", [])
    return [node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _owner(tree: ast.Module, name: str) -> str | None:
    """Return the class whose method is `name`; None if the module itself defines it."""
    if name in _bound(tree):
        return None
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    owners = [each.name for each in classes if name in {f.name for f in _functions(each)}]
    return owners[-1] if owners else None


def _bound(tree: ast.Module) -> set[str]:
    """Return the names that the top level defines or assigns."""
    defined = {node.name for node in (*_functions(tree), *_classes(tree))}
    assigned = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    return defined | assigned


def _classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]


def _defines(code: str, name: str) -> bool:
    """Return whether it is Python code that defines `name`, at its top level or in a class."""
    tree = parsed(code)
    return tree is not None and (name in _bound(tree) or _owner(tree, name) is not None)


def _placeholder(code: str, name: str) -> bool:
    """Return whether the function's body is nothing but a docstring, `...`, `pass` or a refusal."""
    tree = parsed(code)
    assert tree is not None, "a piece that defines a name parses"
    rooms = [tree, *_classes(tree)]
    bodies = [node.body for room in rooms for node in _functions(room) if node.name == name]
    return bool(bodies) and all(_says_nothing(node) for node in bodies[-1])


def _says_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        return "NotImplementedError" in ast.unparse(node)
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant or isinstance(node, ast.Pass)


def parsed(code: str) -> ast.Module | None:
    """Return the syntax tree of a program; None if Python would not compile it."""
    try:
        tree = ast.parse(code)
        compile(tree, "answer", "exec", dont_inherit=True)
        return tree
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
