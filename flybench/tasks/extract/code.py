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
from typing import NamedTuple

from flybench.tasks.extract.fences import block, fenced_blocks, lines_of
from flybench.tasks.extract.needed import needed_statements

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MAX_CODE_LINES = 1000  # maximum number of lines searched for unfenced code


class Piece(NamedTuple):
    """A part of an answer that Python would compile."""

    source: str
    tree: ast.Module

    @classmethod
    def of(cls, source: str) -> Piece | None:
        """Parse a program; None if it is not one."""
        try:
            tree = ast.parse(source)
            compile(tree, "answer", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return cls(source, tree)

    @property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in self.tree.body if isinstance(node, ast.ClassDef)]

    def binds(self, name: str) -> bool:
        """Whether the top level defines or assigns `name`."""
        for node in self.tree.body:
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node.name == name:
                return True
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(each, ast.Name) and each.id == name for each in targets):
                    return True
        return False

    def owner(self, name: str) -> str | None:
        """Return the last class with a method `name`; None if the top level binds the name."""
        owners = [each.name for each in self.classes if _bodies(each, name)]
        return owners[-1] if owners and not self.binds(name) else None

    def defines(self, name: str) -> bool:
        """Whether the top level or a class defines `name`."""
        return self.binds(name) or self.owner(name) is not None

    def is_placeholder(self, name: str) -> bool:
        """Whether the function says nothing but a docstring, `...`, `pass` or a refusal."""
        bodies = _bodies(self.tree, name)
        bodies += [body for each in self.classes for body in _bodies(each, name)]
        return bool(bodies) and all(_says_nothing(node) for node in bodies[-1])


def program_in(text: str, name: str) -> str | None:
    """Return the code that defines `name`; None if there is none."""
    lines = lines_of(text)
    header = re.compile(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(name)}\b", re.MULTILINE)
    pieces, incomplete = [], []
    for candidates in fenced_blocks(lines):
        piece = _piece(candidates, name, header)
        pieces += [piece] if piece else []
        incomplete += [each for each in candidates[:1] if header.search(each)]
    if any(piece.defines(name) for piece in pieces):
        return _assembled(pieces, name)
    if incomplete:
        return incomplete[0]
    if bare := _bare(lines, name, header):
        return _assembled([bare], name)
    found = header.search(text)
    return text[found.start() :] if found else None


def _piece(candidates: list[str], name: str, header: re.Pattern[str]) -> Piece | None:
    """Return the candidate of a block that defines `name`, else its part, else one that parses."""
    pieces = [piece for each in candidates if (piece := Piece.of(each)) and piece.tree.body]
    if defining := next((piece for piece in pieces if piece.defines(name)), None):
        return defining
    if header.search(candidates[0]):
        return _bare(candidates[0].split("\n"), name, header)
    return pieces[0] if pieces else None


def _assembled(pieces: list[Piece], name: str) -> str:
    """Return the last piece that defines `name`, with what it needs of the others."""
    defining = [piece for piece in pieces if piece.defines(name)]
    own = ([piece for piece in defining if not piece.is_placeholder(name)] or defining)[-1]
    body = list(own.tree.body)
    if owner := own.owner(name):
        body += ast.parse(f"{name} = {owner}().{name}").body
    others = [node for piece in pieces if piece is not own for node in piece.tree.body]
    try:
        kept = needed_statements(body, others, name)
        if kept == own.tree.body:
            return own.source  # comments included
        return "\n\n".join(map(ast.unparse, kept)) + "\n"
    except RecursionError:
        return own.source


def _bare(lines: list[str], name: str, header: re.Pattern[str]) -> Piece | None:
    """Return the longest run of lines around a definition that is valid Python, with imports and
    helpers."""
    places = [number for number, line in enumerate(lines[:MAX_CODE_LINES]) if header.match(line)]
    for place in reversed(places):
        ends = range(min(len(lines), place + MAX_CODE_LINES), place, -1)
        end = next((end for end in ends if Piece.of(block(lines[place:end]))), None)
        if end is not None:
            starts = range(max(0, place - MAX_CODE_LINES), place + 1)
            runs = (Piece.of(block(lines[start:end])) for start in starts)
            return next((run for run in runs if run and run.defines(name)), None)
    return None


def _bodies(room: ast.Module | ast.ClassDef, name: str) -> list[list[ast.stmt]]:
    """Return the bodies of the functions `name` at the top level of a module or class."""
    return [node.body for node in room.body if isinstance(node, FUNCTIONS) and node.name == name]


def _says_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        return "NotImplementedError" in ast.unparse(node)
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant or isinstance(node, ast.Pass)
