"""What an expression is, as far as the text says: followed through names that are bound exactly once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from layoutcheck.lint.scopes import Scope
from layoutcheck.lint.source import Source, names_in

_STEPS = 32  # bindings followed: more is no kernel but a puzzle
_EXPRESSIONS = 200  # that one is computed from, likewise

TILED = ("make_tiled_copy", *(f"make_tiled_copy_{kind}" for kind in ("tv", "A", "B", "C")))
_ATOMS = frozenset(("make_copy_atom", "CopyAtom"))


def last(source: Source, node: ast.expr) -> str:
    """The last part of a name or of a call's name, imports resolved; empty for anything else."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return source.dotted(node).rpartition(".")[2]


def follow(scope: Scope, node: ast.expr | None) -> tuple[ast.expr | None, int | None]:
    """The expression behind a name, and which element of it (None: all of it)."""
    for _ in range(_STEPS):
        if not isinstance(node, ast.Name):
            return node, None
        bound = scope.only(node.id)
        if bound is None:
            return node, None
        if bound.index is not None:
            return bound.node, bound.index
        node = bound.node
    return None, None


def integer(scope: Scope, node: ast.expr | None) -> int | None:
    """The integer that an expression is, where it is written out."""
    return _integer(scope, node, 8)


def _integer(scope: Scope, node: ast.expr | None, depth: int) -> int | None:
    node, index = follow(scope, node)
    if node is None or index is not None or not depth:
        return None
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _integer(scope, node.operand, depth - 1)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp):
        left = _integer(scope, node.left, depth - 1)
        right = _integer(scope, node.right, depth - 1)
        return worked_out(left, node.op, right)
    return None


_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: int.__add__,
    ast.Sub: int.__sub__,
    ast.Mult: int.__mul__,
    ast.FloorDiv: int.__floordiv__,
}


def worked_out(left: int | None, op: ast.operator, right: int | None) -> int | None:
    """`left op right`; None where a side is not known, is longer than a machine word, or divides by zero."""
    operation = _OPERATIONS.get(type(op))
    if operation is None or left is None or right is None or max(abs(left), abs(right)) >= 1 << 62:
        return None
    return None if isinstance(op, ast.FloorDiv) and not right else operation(left, right)


def atom_of(source: Source, scope: Scope, node: ast.expr | None) -> ast.Call | None:
    """The `make_copy_atom(...)` behind a copy's first argument: an atom, a tiled copy or a slice of one."""
    for _ in range(_STEPS):
        node, index = follow(scope, node)
        if index is not None or not isinstance(node, ast.Call):
            return None
        name = last(source, node)
        if name in _ATOMS:
            return node
        if name in TILED and node.args:
            node = node.args[0]
        elif name in ("get_slice", "retile") and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            return None
    return None


def op_of(source: Source, scope: Scope, atom: ast.Call | None) -> ast.Call | None:
    """The operation that a `make_copy_atom` is made of: the call `CopyG2SOp(...)`."""
    if atom is None or not atom.args:
        return None
    node, index = follow(scope, atom.args[0])
    return node if isinstance(node, ast.Call) and index is None else None


def root(node: ast.expr) -> ast.Name | None:
    """The name that slices, attributes and method calls start from: `x` of `x[None, 0].iterator + 4`."""
    while True:
        if isinstance(node, ast.Name):
            return node
        if isinstance(node, ast.Subscript | ast.Attribute | ast.Starred):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func
        elif isinstance(node, ast.BinOp):
            node = node.left
        else:
            return None


def given(scope: Scope, name: str) -> list[ast.expr]:
    """What assignments give a name, in this scope or the nearest one that binds it."""
    at: Scope | None = scope
    while at is not None:
        if name in at.values:
            return at.given(name)
        at = at.parent
    return []


def slice_back(scope: Scope, node: ast.expr) -> Iterator[ast.expr]:
    """Every expression that this one is computed from, itself first."""
    seen: set[str] = set()
    todo = [node]
    left = _EXPRESSIONS
    while todo and left:
        left -= 1
        now = todo.pop()
        yield now
        for name in sorted(names_in(now) - seen):
            seen.add(name)
            todo += given(scope, name)


def decorated(scope: Scope, *names: str) -> bool:
    """Whether a function has one of these decorators, by the last part of their name."""
    for each in getattr(scope.node, "decorator_list", ()):
        target = each.func if isinstance(each, ast.Call) else each
        if (target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")) in names:
            return True
    return False


def statements(scope: Scope) -> Iterator[ast.AST]:
    """Every node of a function's own body, nested functions left out."""
    stack: list[ast.AST] = list(reversed(scope.body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            stack += reversed(list(ast.iter_child_nodes(node)))


def conditions(scope: Scope) -> Iterator[ast.expr]:
    """What a function's `assert`s demand and its `if`s ask."""
    for node in statements(scope):
        if isinstance(node, ast.Assert | ast.If):
            yield node.test
