"""Expressions read as CuTe's values: literals, names that are bound once, parameters that one call gives."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from layoutcheck.errors import InputError
from layoutcheck.lint import resolve
from layoutcheck.lint.scopes import Call, Scope
from layoutcheck.lint.source import Module
from layoutcheck.lint.values import Argument, Pointer, Tensor, Unknown

_DEPTH = 64
_MAX_DIGITS = 18
_SPACES = frozenset(("gmem", "smem", "rmem"))


class Expressions:
    """Reads expressions; raises Unknown for what is not written out.

    `functions` are the functions of CuTe that are read, by the last part of their name.
    """

    def __init__(self, module: Module, functions: Mapping[str, Callable[[Expressions, Call], Any]]) -> None:
        self.module, self.functions = module, functions
        self.depth = 0

    def tensor(self, scope: Scope, node: ast.expr | None) -> Tensor:
        """A tensor."""
        value = self.value(scope, node)
        if not isinstance(value, Tensor):
            raise Unknown("a tensor that is not written out")
        return value

    def layout(self, scope: Scope, node: ast.expr | None) -> Any:
        """A layout; a shape is that shape's packed layout."""
        value = self.value(scope, node)
        if isinstance(value, int | tuple):
            from layoutcheck.algebra import Layout

            return Layout(value)
        if hasattr(value, "shape") and not isinstance(value, Tensor):
            return value
        raise Unknown("a layout that is not written out")

    def value(self, scope: Scope, node: ast.expr | None) -> Any:
        """What an expression is."""
        self.depth += 1
        try:
            if node is None or self.depth > _DEPTH:
                raise Unknown("nothing written out")
            return self._value(scope, node)
        finally:
            self.depth -= 1

    def _value(self, scope: Scope, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) is int and len(str(node.value)) <= _MAX_DIGITS:
            return node.value
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self.value(scope, each) for each in node.elts)
        if isinstance(node, ast.Name):
            return self._name(scope, node.id)
        if isinstance(node, ast.UnaryOp | ast.BinOp):
            number = resolve.integer(scope, node)
            if number is None:
                raise Unknown("an expression")
            return number
        if isinstance(node, ast.Call):
            return self._call(scope, node)
        if isinstance(node, ast.Attribute):
            return self._attribute(scope, node)
        raise Unknown(f"{type(node).__name__} is not read")

    def _name(self, scope: Scope, name: str) -> Any:
        bound = scope.only(name)
        if bound is not None:
            value = self.value(self._owner(scope, name), bound.node)
            if bound.index is None:
                return value
            if isinstance(value, tuple) and bound.index < len(value):
                return value[bound.index]
            raise Unknown(f"'{name}' is part of something")
        owner = self._parameter_of(scope, name)
        if owner is None:
            raise Unknown(f"'{name}' is bound more than once")
        return self._argument(owner, name)

    def _owner(self, scope: Scope, name: str) -> Scope:
        at: Scope | None = scope
        while at is not None and name not in at.values:
            at = at.parent
        return at or scope

    def _parameter_of(self, scope: Scope, name: str) -> Scope | None:
        at: Scope | None = scope
        while at is not None and name not in at.values:
            if name in at.parameters:
                return at
            at = at.parent
        return None

    def _argument(self, scope: Scope, name: str) -> Any:
        """A parameter: what the only call in the file gives, or a kernel's argument."""
        calls = self.module.callers(scope)
        if len(calls) == 1:
            shift = 1 if scope.parameters[:1] == ("self",) else 0
            position = scope.parameters.index(name) - shift
            given = calls[0].argument(position if position >= 0 else None, name)
            if given is not None:
                return self.value(calls[0].scope, given)
        if calls or not resolve.decorated(scope, "kernel", "jit"):
            raise Unknown(f"'{name}' comes from a caller")
        return Argument(name)

    def _attribute(self, scope: Scope, node: ast.Attribute) -> Any:
        if node.attr == "iterator":
            value = self.value(scope, node.value)
            if isinstance(value, Argument):
                return Pointer("gmem", None, 16)
            if isinstance(value, Tensor):
                return value.pointer
        elif node.attr == "layout":
            value = self.value(scope, node.value)
            if isinstance(value, Tensor):
                return value.layout
        elif node.attr in _SPACES and self.module.dotted(node.value).endswith("AddressSpace"):
            return node.attr
        raise Unknown(f".{node.attr} is not read")

    def dtype(self, scope: Scope, node: ast.expr | None) -> str:
        """The printed name of an element type."""
        found, index = resolve.follow(scope, node)
        if found is not None and index is None and not isinstance(found, ast.Call):
            from layoutcheck.machine.dtypes import dtype

            try:
                return str(dtype(resolve.last(self.module, found)))
            except InputError:
                pass
        raise Unknown("an element type that is not written out")

    def _call(self, scope: Scope, node: ast.Call) -> Any:
        name = resolve.last(self.module, node)
        call = Call(node, name, scope, ())
        if name not in self.functions:
            raise Unknown(f"{name or 'a call'}() is not read")
        return self.functions[name](self, call)
