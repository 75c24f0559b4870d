"""What a file's index holds: functions with what their names are bound to, calls with what is around them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property

from layoutcheck.syntax import argument_of

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Value:
    """What a name is bound to: `index` None for the whole expression, else an element of it, by position."""

    node: ast.expr
    index: int | None = None


@dataclass(eq=False)
class Scope:
    """The body of a function, a lambda or the module: `values` are all bindings of its names, in order.

    A name bound by anything but a plain assignment (a loop, a `with`, an augmented assignment) has None.
    """

    node: Function | ast.Module
    parent: Scope | None
    values: dict[str, list[Value | None]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The function's name; empty for the module and a lambda."""
        return getattr(self.node, "name", "")

    @property
    def body(self) -> list[ast.stmt] | list[ast.expr]:
        """The statements; a lambda's one expression."""
        return [self.node.body] if isinstance(self.node, ast.Lambda) else self.node.body

    @cached_property
    def parameters(self) -> list[str]:
        """The names of its parameters."""
        return [] if isinstance(self.node, ast.Module) else parameters_of(self.node)

    def given(self, name: str) -> list[ast.expr]:
        """What assignments of this scope give a name: the whole of a value that they take apart."""
        return [value.node for value in self.values.get(name, ()) if value is not None]

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
        """The argument by its name or its position, as `argument_of` finds it."""
        return argument_of(self.node, keyword, position)


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


def parameters_of(node: Function) -> list[str]:
    """The names of a function's parameters, by position, then those by name alone."""
    return [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
