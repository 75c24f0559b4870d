"""A file of a program, parsed: its functions, classes, calls and assignments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from layoutcheck.errors import InputError

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None"


@dataclass(frozen=True, slots=True)
class Site:
    """An expression of a file, within the function that it is evaluated in."""

    path: str
    node: ast.expr
    function: Function = field(compare=False, default=None)

    @property
    def call(self) -> ast.Call:
        """The expression, which is a call."""
        assert isinstance(self.node, ast.Call)
        return self.node


@dataclass(frozen=True)
class Source:
    """A file's text, parsed. Raises InputError where it is no Python."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError) as error:
            raise InputError(f"'{self.path}' is not valid Python: {error}") from None

    @cached_property
    def owners(self) -> dict[ast.AST, Function]:
        """The function around every node."""
        found: dict[ast.AST, Function] = {}

        def walk(node: ast.AST, function: Function) -> None:
            for child in ast.iter_child_nodes(node):
                found[child] = function
                inner = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
                walk(child, child if inner else function)

        walk(self.tree, None)
        return found

    @cached_property
    def assignments(self) -> list[tuple[ast.Assign | ast.AnnAssign | ast.NamedExpr, Function]]:
        """Every assignment, with the function around it."""
        return [
            (node, owner)
            for node, owner in self.owners.items()
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr))
        ]

    @cached_property
    def classes(self) -> dict[ast.AST, str]:
        """The class of every statement of a class's body: methods, fields."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]
        return {method: node.name for node in found for method in node.body}

    @cached_property
    def functions(self) -> frozenset[str]:
        """The names of its functions."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return frozenset(node.name for node in ast.walk(self.tree) if isinstance(node, kinds))

    @cached_property
    def _calls(self) -> list[ast.Call]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]

    def calls(self) -> Iterator[ast.Call]:
        """Every call."""
        return iter(self._calls)

    @cached_property
    def fields(self) -> list[tuple[str, str, ast.expr]]:
        """What a class's body gives a name: the class, the name, the value."""
        return [
            (owner, target.id, node.value)
            for node, owner in self.classes.items()
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        ]

    @cached_property
    def annotated(self) -> list[tuple[str, str]]:
        """The annotated names of classes' bodies in their order, with the class: fields of dataclasses."""
        return [
            (owner, node.target.id)
            for node, owner in self.classes.items()
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        ]

    @cached_property
    def returns(self) -> list[tuple[str, ast.expr, Function]]:
        """What functions return: their name, the expression, the function."""
        return [
            (getattr(owner, "name", ""), node.value, owner)
            for node, owner in self.owners.items()
            if isinstance(node, ast.Return) and node.value is not None
        ]

    def function_at(self, offset: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The innermost function whose lines hold an offset of the text."""
        line = self.text.count("\n", 0, offset) + 1
        around = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        return max(around, key=lambda node: node.lineno, default=None)
