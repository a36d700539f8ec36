"""Drafters, rules and tasks as their sources declare them (`flybench.core.declare`).

A declaration is read from the source with `ast`, without running it: a configuration is checked
before PyTorch is imported, and the report of a run never executes a user's file. The kinds that
come with flybench are those declared in `flybench/draft`, `flybench/verify` and `flybench/tasks`;
`file:my_rule.py:MyRule` names a class of a user's own.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import flybench
from flybench.core.errors import FlybenchError

Room = Literal["draft", "verify", "tasks"]
Value = bool | int | float | str
DECORATORS: dict[Room, str] = {"draft": "drafter", "verify": "verifier", "tasks": "task"}
TYPES: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}
FILE = "file:"


@dataclass(frozen=True)
class Parameter:
    """A setting of a drafter or a rule, as `flybench.core.declare.parameter` declares it."""

    name: str
    type: type
    choices: tuple[str, ...]
    default: Value
    help: str
    unit: str = ""
    low: float | str | None = None
    high: float | str | None = None
    label: str = ""
    only_with: str = ""


@dataclass(frozen=True)
class Declaration:
    """A declared class: `options` are the decorator's arguments, `methods` the class's own."""

    kind: str
    file: Path
    class_name: str
    parameters: dict[str, Parameter]
    options: dict[str, Any]
    methods: frozenset[str]
    code_sha256: str = field(compare=False)

    def option(self, name: str, default: Any) -> Any:
        """An argument of the decorator."""
        return self.options.get(name, default)

    def covers(self, greedy: bool) -> bool:
        """Whether a rule decides at temperature 0, or above it."""
        return self.option("sampling", "any") in ("any", "greedy" if greedy else "sampled")


def declarations(room: Room, kind: str) -> list[Declaration]:
    """The classes of a kind, several where they share it; none for an unknown kind.

    Raises:
        FlybenchError: `kind` names a file that is missing, or has no such class in it.
    """
    if kind.startswith(FILE):
        return [_of_file(room, kind)]
    return [each for each in _shipped(room) if each.kind == kind]


def kinds(room: Room) -> tuple[str, ...]:
    """The kinds that come with flybench."""
    return tuple(sorted({each.kind for each in _shipped(room)}))


def parameters(room: Room) -> frozenset[str]:
    """The settings of all the kinds that come with flybench."""
    return frozenset(name for each in _shipped(room) for name in each.parameters)


@cache
def _shipped(room: Room) -> tuple[Declaration, ...]:
    folder = Path(flybench.__file__).parent / room
    return tuple(each for file in sorted(folder.rglob("*.py")) for each in _declared(room, file))


def _of_file(room: Room, kind: str) -> Declaration:
    """The class that `file:PATH:CLASS` names."""
    path, _, class_name = kind.removeprefix(FILE).rpartition(":")
    file = Path(path).expanduser()
    if not path or not file.is_file():
        raise FlybenchError(
            f"{kind} names no file that exists: write file:PATH.py:CLASS, with the path from this "
            "folder."
        )
    found = {each.class_name: each for each in _declared(room, file)}
    if class_name not in found:
        known = ", ".join(found) or "none"
        raise FlybenchError(
            f"{path} has no class {class_name} with @{DECORATORS[room]}(…) (it has {known}): name "
            "one of its classes, or add the decorator, imported from flybench.core.declare."
        )
    return found[class_name]


def _declared(room: Room, file: Path) -> Iterator[Declaration]:
    source = file.read_text(encoding="utf-8")
    if f"@{DECORATORS[room]}(" not in source:
        return
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise FlybenchError(f"{file} is not Python ({error}): correct it.") from error
    code = code_sha256(tree)
    for node in tree.body:
        for call in node.decorator_list if isinstance(node, ast.ClassDef) else []:
            if isinstance(call, ast.Call) and ast.unparse(call.func) == DECORATORS[room]:
                assert isinstance(node, ast.ClassDef)
                (kind,) = _literals(file, call.args)
                options = {str(k.arg): _literals(file, [k.value])[0] for k in call.keywords}
                yield Declaration(
                    kind=str(kind),
                    file=file,
                    class_name=node.name,
                    parameters={each.name: each for each in _parameters(file, node)},
                    options=options,
                    methods=frozenset(f.name for f in node.body if isinstance(f, ast.FunctionDef)),
                    code_sha256=code,
                )


def _parameters(file: Path, node: ast.ClassDef) -> Iterator[Parameter]:
    for line in node.body:
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.value, ast.Call):
            continue
        if ast.unparse(line.value.func) != "parameter":
            continue
        name, annotation = ast.unparse(line.target), line.annotation
        choices: tuple[str, ...] = ()
        if isinstance(annotation, ast.Subscript):
            choices = tuple(_literals(file, getattr(annotation.slice, "elts", [annotation.slice])))
        rest = {str(k.arg): _literals(file, [k.value])[0] for k in line.value.keywords}
        kind = str if choices else TYPES.get(ast.unparse(annotation))
        if kind is None:
            raise FlybenchError(
                f"{file} gives {node.name}.{name} the type {ast.unparse(annotation)}: use one of "
                f"{', '.join(TYPES)}, or Literal[…] of words."
            )
        yield Parameter(name, kind, choices, **rest)


def _literals(file: Path, nodes: list[ast.expr]) -> list[Any]:
    try:
        return [ast.literal_eval(node) for node in nodes]
    except ValueError as error:
        raise FlybenchError(
            f"{file} line {nodes[0].lineno} declares with an expression: a declaration is read "
            "without running it, so write literals there."
        ) from error


def code_sha256(tree: ast.Module) -> str:
    """A hash of a module's code, which comments, docstrings and layout do not change."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and body:
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                first.value.value = None
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
