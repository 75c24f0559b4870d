"""A Python file, parsed and indexed once: its scopes, assignments and calls, and where in the text they are.

The lint's rules and the edits of `patching/` read programs by it. Nothing is imported or run.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from layoutcheck.lint.scopes import Call, Function, Scope, Test, assign
from layoutcheck.lint.text import parsed
from layoutcheck.syntax import spans, words_of

COPIES = ("copy", "autovec_copy", "basic_copy", "basic_copy_if", "copy_atom_call")

# Calls that some rule asks for, by the last part of their name, with what is around them.
CALLS = frozenset(
    (*COPIES, "make_copy_atom", "CopyAtom", "make_tensor", "make_rmem_tensor", "make_ptr", "from_dlpack",
     "make_swizzle", "allocate_tensor", "get_tensor", "recast_ptr", "assume", "compile", "launch",
     "composition", "mark_compact_shape_dynamic")
)  # fmt: skip
_LINE_END = re.compile(r"\r\n|\r|\n")  # as Python's parser counts them

Assignment: TypeAlias = "ast.Assign | ast.AnnAssign | ast.NamedExpr"


@dataclass(frozen=True)
class Source:
    """A file's text, parsed when it is asked for. Raises Unreadable, an InputError, where it is no Python."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return parsed(self.text, self.path)

    @cached_property
    def _index(self) -> _Index:
        return _Index(self.tree)

    @property
    def scopes(self) -> list[Scope]:
        """The module's scope, then those of its functions and lambdas, in the order of the text."""
        return self._index.scopes

    @property
    def aliases(self) -> dict[str, str]:
        """What imports, and assignments of CuTe's names, bind: names in full."""
        return self._index.aliases

    @property
    def assignments(self) -> list[tuple[Assignment, Scope]]:
        """Every assignment, with the scope that it stands in."""
        return self._index.assignments

    @property
    def returns(self) -> list[tuple[ast.expr, Scope]]:
        """What functions return."""
        return self._index.returns

    def scope_of(self, node: ast.Call | ast.stmt | Function) -> Scope:
        """The scope that a node stands in; the module's for one that is not of this file."""
        return self._index.owners.get(node, self.scopes[0])

    def scope_at(self, line: int) -> Scope:
        """The innermost function (no lambda) whose lines hold a line; else the module."""
        found = self.scopes[0]
        for scope in self.scopes[1:]:
            node = scope.node
            if not isinstance(node, ast.Lambda | ast.Module):
                found = scope if spans(node, line) else found
        return found

    @cached_property
    def _calls(self) -> list[ast.Call]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]

    def calls(self) -> Iterator[ast.Call]:
        """Every call, outer ones first."""
        return iter(self._calls)

    def called(self, *names: str) -> Iterator[Call]:
        """The calls of these of `CALLS`, each in the order of the text."""
        for name in names:
            yield from self._index.calls.get(name, ())

    def callers(self, scope: Scope) -> list[Call]:
        """The calls in this file of a function, by its plain name or as a method of `self`."""
        return self._by_function.get(scope.name, []) if scope.name else []

    @cached_property
    def _by_function(self) -> dict[str, list[Call]]:
        found: dict[str, list[Call]] = {}
        for node, scope in self._index.owners.items():
            words = words_of(node.func) if isinstance(node, ast.Call) else []
            if isinstance(node, ast.Call) and (len(words) == 1 or (len(words) == 2 and words[0] == "self")):
                found.setdefault(words[-1], []).append(Call(node, words[-1], scope, ()))
        return found

    def dotted(self, node: ast.expr) -> str:
        """A name in full: `cute.copy` is "cutlass.cute.copy" after `import cutlass.cute as cute`; else ""."""
        return self._index.dotted(node)

    @cached_property
    def classes(self) -> dict[ast.AST, str]:
        """The class of every statement of a class's body: methods, fields."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]
        return {method: node.name for node in found for method in node.body}

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
    def _starts(self) -> list[int]:
        """Where each line begins in the text."""
        return [0, *(found.end() for found in _LINE_END.finditer(self.text))]

    def line_start(self, line: int) -> int:
        """Where a line begins in the text; its end for a line behind the last."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def line_at(self, offset: int) -> int:
        """The line, from 1, of an offset of the text."""
        return bisect.bisect_right(self._starts, offset)

    def offset(self, line: int, column: int) -> int:
        """Where in the text, in characters, a column is that syntax trees have, in bytes."""
        start = self.line_start(line)
        if self.text.isascii():
            return start + column
        row = self.text[start : self.line_start(line + 1)]
        return start + len(row.encode()[:column].decode("utf-8", "replace"))

    def column(self, line: int, column: int) -> int:
        """That column from 1 and in characters, as users count."""
        return self.offset(line, column) - self.line_start(line) + 1

    def span_of(self, node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
        """The offsets of a node in the text."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def text_of(self, node: ast.expr) -> str:
        """An expression as it is written."""
        return self.text[slice(*self.span_of(node))]

    def in_one_line(self, node: ast.expr) -> str:
        """An expression as it is written where that is one line; else as Python would write it."""
        return self.text_of(node) if node.end_lineno == node.lineno else ast.unparse(node)


class _Index:
    """One pass over a tree, with an explicit stack: source may nest deeper than Python's own.

    `calls` are by the last part of their name; `owners` are the scopes of all nodes but names and constants.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.aliases: dict[str, str] = {}
        self.calls: dict[str, list[Call]] = {}
        self.scopes: list[Scope] = [Scope(tree, None)]
        self.owners: dict[ast.AST, Scope] = {}
        self.assignments: list[tuple[Assignment, Scope]] = []
        self.returns: list[tuple[ast.expr, Scope]] = []
        Entry = tuple[ast.AST, Scope, tuple[Test, ...]]  # noqa: N806
        stack: list[Entry] = [(tree, self.scopes[0], ())]
        pop, extend, owners = stack.pop, stack.extend, self.owners
        known: dict[type, tuple[str, ...]] = {ast.Constant: ()}  # the fields of a kind that hold nodes
        while stack:
            node, scope, tests = pop()
            owners[node] = scope
            kind = node.__class__
            if kind is ast.Call:
                self._call(node, scope, tests)  # type: ignore[arg-type]
            elif kind in _FUNCTIONS:
                assert isinstance(node, Function)
                inner = Scope(node, scope)
                self.scopes.append(inner)
                plain = isinstance(node, ast.Lambda)
                extend((each, inner, tests if plain else ()) for each in reversed(inner.body))
                stack.append((node.args, scope, tests))
                if not isinstance(node, ast.Lambda):
                    scope.values.setdefault(node.name, []).append(None)
                    extend((each, scope, tests) for each in reversed(node.decorator_list))
                continue
            elif kind is ast.If:
                assert isinstance(node, ast.If)
                extend((each, scope, (*tests, Test(node.test, False))) for each in reversed(node.orelse))
                extend((each, scope, (*tests, Test(node.test, True))) for each in reversed(node.body))
                stack.append((node.test, scope, tests))
                continue
            elif kind is ast.With:
                assert isinstance(node, ast.With)
                entered = tuple(Test(item.context_expr, True) for item in node.items)
                extend((each, scope, (*tests, *entered)) for each in reversed(node.body))
                extend((each, scope, tests) for each in reversed(node.items))
                continue
            elif kind in _BINDERS:
                self._bind(node, scope)
            children: list[Entry] = []
            fields = known.get(kind)
            if fields is None:
                fields = known[kind] = tuple(name for name in kind._fields if name not in _PLAIN)
            for name in fields:
                value = getattr(node, name, None)
                if value.__class__ is list:
                    children += [(each, scope, tests) for each in value if each.__class__ not in _LEAVES]
                elif value is not None and value.__class__ not in _LEAVES:
                    children.append((value, scope, tests))
            children.reverse()
            extend(children)

    def dotted(self, node: ast.expr) -> str:
        words = words_of(node)
        return ".".join([self.aliases.get(words[0], words[0]), *words[1:]]) if words else ""

    def _call(self, node: ast.Call, scope: Scope, tests: tuple[Test, ...]) -> None:
        func = node.func
        last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        if isinstance(func, ast.Name):
            last = self.aliases.get(last, last).rpartition(".")[2]
        if last in CALLS:
            self.calls.setdefault(last, []).append(Call(node, self.dotted(func), scope, tests))

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            self.assignments.append((node, scope))
        if isinstance(node, ast.Import):
            for each in node.names:
                first = each.name.partition(".")[0]
                self.aliases[each.asname or first] = each.name if each.asname else first
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                self.aliases[each.asname or each.name] = f"{node.module or ''}.{each.name}"
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                assign(scope, target, node.value)
                name = self.dotted(node.value) if scope is self.scopes[0] else ""
                if isinstance(target, ast.Name) and name.startswith("cutlass."):
                    self.aliases[target.id] = name
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            if node.value is not None:
                assign(scope, node.target, node.value)
        elif isinstance(node, ast.AugAssign | ast.For):
            assign(scope, node.target, None)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            assign(scope, node.optional_vars, None)
        elif isinstance(node, ast.Return) and node.value is not None:
            self.returns.append((node.value, scope))


_PLAIN = frozenset(
    ("ctx", "op", "ops", "id", "attr", "arg", "name", "asname", "module", "level", "names", "kind", "rest",
     "type_comment", "type_ignores", "is_async", "simple", "conversion")
)  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LEAVES = frozenset(
    (
        str,
        int,
        bool,
        type(None),
        ast.Constant,
        ast.Name,
        ast.Load,
        ast.Store,
        ast.Pass,
        ast.Break,
        ast.Continue,
    )
)
_BINDERS = frozenset(
    (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For,
     ast.withitem, ast.Return)
)  # fmt: skip


def names_in(node: ast.AST) -> set[str]:
    """The names that an expression reads."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
