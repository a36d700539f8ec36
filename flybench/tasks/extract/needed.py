"""The statements of an answer that its function needs: definitions, imports, and what sets them up.

EvalPlus likewise keeps the definitions that the function reaches and drops the rest
(`evalplus/sanitize.py`); it drops statements that set something up, too.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator, Sequence
from typing import NamedTuple

ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
BINDING = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom),
    *ASSIGNMENTS,
)


class Statement(NamedTuple):
    """A top-level statement, the global names that it binds, and those that it reads."""

    node: ast.stmt
    binds: frozenset[str]
    reads: frozenset[str]

    @classmethod
    def of(cls, node: ast.stmt) -> Statement:
        table = symtable.symtable(ast.unparse(node), "answer", "exec")
        binds = {each.get_name() for each in table.get_symbols() if _is_bound(each)}
        return cls(node, frozenset(binds), frozenset(_reads(table)))

    @property
    def always(self) -> bool:
        """Whether it is kept whatever the function reads, such as a star import."""
        node = self.node
        if not isinstance(node, ast.ImportFrom):
            return False
        return node.module == "__future__" or any(each.name == "*" for each in node.names)

    @property
    def sets_up(self) -> bool:
        """Whether it acts rather than binds; a docstring does neither."""
        constant = isinstance(self.node, ast.Expr) and isinstance(self.node.value, ast.Constant)
        return not constant and not isinstance(self.node, BINDING)


def needed_statements(
    own: Sequence[ast.stmt], others: Sequence[ast.stmt], name: str
) -> list[ast.stmt]:
    """Return the statements that `name` needs: of `others` its helpers, then those of `own`.

    One of `own` binds `name`.
    """
    helpers = [each for each in map(Statement.of, others) if isinstance(each.node, BINDING)]
    statements = [Statement.of(node) for node in own]
    last = max(at for at, each in enumerate(statements) if name in each.binds)
    # A statement that uses an earlier definition of the function is a demo of it.
    setup = [each for each in statements[:last] if each.sets_up and name not in each.reads]
    needed = {name}.union(*(each.reads for each in setup))
    while more := _read_by(needed, statements, helpers) - needed:
        needed |= more
    variables = _bound([each for each in statements if isinstance(each.node, ASSIGNMENTS)])
    kept = [each for each in helpers if each.binds & needed - _bound(statements)]
    for at, each in enumerate(statements):
        filling = at > last and name not in each.reads and each.reads & needed & variables
        if each.always or each.binds & needed or each in setup or filling:
            kept.append(each)
    return [each.node for each in kept]


def _read_by(needed: set[str], own: list[Statement], helpers: list[Statement]) -> set[str]:
    """Return the names that the definitions of `needed` read."""
    reading = [each for each in own if each.binds & needed]
    reading += [each for each in helpers if each.binds & needed - _bound(own)]
    return {name for each in reading for name in each.reads}


def _bound(statements: Sequence[Statement]) -> set[str]:
    return {name for each in statements for name in each.binds}


def _is_bound(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _reads(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the global names that a statement reads, at once or when it is called."""
    top = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (top or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _reads(child)
