"""What a file's index holds: functions with what their names are bound to, calls with what is around them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Value:
    """What a name is bound to: `index` None for the whole expression, else an element of it, by position."""

    node: ast.expr
    index: int | None = None


@dataclass(eq=False, slots=True)
class Scope:
    """A function's body, or the module's: `values` are every name's bindings, in the order of the text.

    A name bound by anything but a plain assignment (a loop, a `with`, an augmented assignment) has None.
    """

    node: Function | ast.Module
    parent: Scope | None
    values: dict[str, list[Value | None]] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The function's name; empty for the module."""
        return "" if isinstance(self.node, ast.Module) else self.node.name

    def only(self, name: str) -> Value | None:
        """The binding of a name that is bound once in this scope, or in the nearest one that binds it."""
        bound = self.values.get(name)
        if bound is not None:
            return bound[0] if len(bound) == 1 else None
        if name in self.parameters or self.parent is None:
            return None
        return self.parent.only(name)


@dataclass(frozen=True, slots=True)
class Test:
    """What code runs under: an `if`'s condition (`holds` is False in an `else`), what a `with` enters."""

    node: ast.expr
    holds: bool


@dataclass(eq=False, frozen=True, slots=True)
class Call:
    """A call, the scope it is made in, and the `if`s and `with`s around it, outermost first."""

    node: ast.Call
    name: str  # in full, with imports resolved: "cutlass.cute.copy"
    scope: Scope
    tests: tuple[Test, ...]

    def argument(self, position: int | None, keyword: str = "") -> ast.expr | None:
        """The argument at a position or with a keyword; None where it is not given, or hidden by a `*`."""
        for given in self.node.keywords:
            if keyword and given.arg == keyword:
                return given.value
        head = self.node.args[: (position or 0) + 1]
        if position is None or len(head) <= position or any(isinstance(a, ast.Starred) for a in head):
            return None
        return head[position]


def assign(scope: Scope, target: ast.expr, value: ast.expr | None) -> None:
    """Bind what an assignment's target names; `value` None is nothing that can be followed."""
    if isinstance(target, ast.Name):
        scope.values.setdefault(target.id, []).append(None if value is None else Value(value))
    elif isinstance(target, ast.Tuple | ast.List):
        spread = value.elts if isinstance(value, ast.Tuple | ast.List) else None
        if spread is not None and len(spread) == len(target.elts):
            for inner, element in zip(target.elts, spread, strict=True):
                assign(scope, inner, element)
            return
        for index, inner in enumerate(target.elts):
            if isinstance(inner, ast.Name):
                bound = None if value is None else Value(value, index)
                scope.values.setdefault(inner.id, []).append(bound)
            else:
                assign(scope, inner, None)
    elif isinstance(target, ast.Starred):
        assign(scope, target.value, None)


def parameters_of(node: Function) -> Iterator[str]:
    """The names of a function's parameters."""
    given = node.args
    for each in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        yield each.arg
