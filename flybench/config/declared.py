"""Declarations of drafters, rules and tasks, read from their source (see `flybench.core.declare`).

Sources are parsed with `ast` and never executed. A configuration can therefore be checked before
PyTorch is imported, and the report of a run never executes a user's file. Built-in kinds are
declared in `flybench/draft`, `flybench/verify` and `flybench/tasks`; `file:my_rule.py:MyRule`
names a class in a user's file.
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

Package = Literal["draft", "verify", "tasks"]
Value = bool | int | float | str
DECORATORS: dict[Package, str] = {"draft": "drafter", "verify": "verifier", "tasks": "task"}
TYPES: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}
FILE = "file:"


@dataclass(frozen=True)
class Parameter:
    """A setting of a drafter or a rule, declared with `flybench.core.declare.parameter`."""

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
    """A declared class. `options` are the decorator's arguments, `methods` the class's methods."""

    kind: str
    file: Path
    class_name: str
    parameters: dict[str, Parameter]
    options: dict[str, Any]
    methods: frozenset[str]
    code_sha256: str = field(compare=False)

    def option(self, name: str, default: Any) -> Any:
        """Return an argument of the decorator."""
        return self.options.get(name, default)

    def covers(self, greedy: bool) -> bool:
        """Return True if a rule supports greedy decoding (or sampling, if `greedy` is False)."""
        return self.option("sampling", "any") in ("any", "greedy" if greedy else "sampled")


def declarations(package: Package, kind: str) -> list[Declaration]:
    """Return the classes declared with `kind`; the list is empty for an unknown kind.

    Raises:
        FlybenchError: `kind` names a file that is missing or has no such class.
    """
    if kind.startswith(FILE):
        return [_from_file(package, kind)]
    return [each for each in _builtin(package) if each.kind == kind]


def kinds(package: Package) -> tuple[str, ...]:
    """Return the names of the built-in kinds."""
    return tuple(sorted({each.kind for each in _builtin(package)}))


def parameters(package: Package) -> frozenset[str]:
    """Return the names of the settings of all built-in kinds."""
    return frozenset(name for each in _builtin(package) for name in each.parameters)


@cache
def _builtin(package: Package) -> tuple[Declaration, ...]:
    folder = Path(flybench.__file__).parent / package
    return tuple(each for file in sorted(folder.rglob("*.py")) for each in _declared(package, file))


def is_deleted(kind: str) -> bool:
    """Return whether a kind names a file that does not exist."""
    return kind.startswith(FILE) and not Path(_parts(kind)[0]).expanduser().is_file()


def _parts(kind: str) -> tuple[str, str]:
    """Return the path and the class of `file:PATH:CLASS`; a path may contain colons."""
    rest = kind.removeprefix(FILE)
    path, _, class_name = rest.rpartition(":")
    return (path, class_name) if path and not class_name.endswith(".py") else (rest, "")


def _from_file(package: Package, kind: str) -> Declaration:
    """Return the class that `file:PATH:CLASS` names."""
    path, class_name = _parts(kind)
    file = Path(path).expanduser()
    if not class_name:
        raise FlybenchError(f"{kind} names no class: write file:PATH.py:CLASS.")
    if not file.is_file():
        raise FlybenchError(
            f"the file of {kind} does not exist: write file:PATH.py:CLASS, with a path relative to "
            "this folder."
        )
    classes = {each.class_name: each for each in _declared(package, file)}
    if class_name not in classes:
        known = ", ".join(classes) or "none"
        raise FlybenchError(
            f"{path} has no class {class_name} with @{DECORATORS[package]}(…) (it has: {known}): "
            "name one of these, or add the decorator, which flybench.core.declare defines."
        )
    return classes[class_name]


def _declared(package: Package, file: Path) -> Iterator[Declaration]:
    source = file.read_text(encoding="utf-8")
    if f"@{DECORATORS[package]}(" not in source:
        return
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise FlybenchError(f"{file} is not valid Python ({error}): correct it.") from error
    code = code_sha256(tree)
    for node in tree.body:
        for call in node.decorator_list if isinstance(node, ast.ClassDef) else []:
            if isinstance(call, ast.Call) and ast.unparse(call.func) == DECORATORS[package]:
                assert isinstance(node, ast.ClassDef)
                if len(call.args) != 1:
                    raise FlybenchError(
                        f"{file} line {call.lineno}: @{DECORATORS[package]} takes the kind as its "
                        f'only positional argument, such as @{DECORATORS[package]}("mine").'
                    )
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
                f"{node.name}.{name} in {file} has the type {ast.unparse(annotation)}: use one of "
                f"{', '.join(TYPES)}, or Literal[…] of strings."
            )
        try:
            yield Parameter(name, kind, choices, **rest)
        except TypeError as error:
            what = str(error).removeprefix("Parameter.__init__() ")
            raise FlybenchError(
                f"{file} line {line.lineno}: parameter(…) of {name} {what}: see "
                "flybench/core/declare.py for its arguments."
            ) from error


def _literals(file: Path, nodes: list[ast.expr]) -> list[Any]:
    try:
        return [ast.literal_eval(node) for node in nodes]
    except ValueError as error:
        raise FlybenchError(
            f"{file} line {nodes[0].lineno} has an expression in a declaration: use a literal, "
            "because declarations are read without executing the file."
        ) from error


def code_sha256(tree: ast.Module) -> str:
    """Return a hash of a module's code that ignores comments, docstrings and formatting."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and body:
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                first.value.value = None
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
