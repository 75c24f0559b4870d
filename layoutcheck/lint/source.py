"""A Python file, parsed once and indexed: its functions, their assignments, the calls that rules ask for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from layoutcheck.lint.scopes import Call, Function, Scope, Test, assign, parameters_of
from layoutcheck.lint.text import parsed
from layoutcheck.syntax import words_of

# Calls that some rule asks for, by the last part of their name. The others are not indexed.
CALLS = frozenset(
    ("copy", "autovec_copy", "basic_copy", "basic_copy_if", "copy_atom_call", "make_copy_atom",
     "CopyAtom", "make_tensor", "make_rmem_tensor", "make_ptr", "from_dlpack", "make_swizzle",
     "allocate_tensor", "get_tensor", "recast_ptr", "assume", "compile", "launch", "composition",
     "mark_compact_shape_dynamic",)
)  # fmt: skip


class Module:
    """A parsed file. `calls[name]` are its calls by the last part of their name, in the order of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = parsed(text)
        self.aliases: dict[str, str] = {}
        self.calls: dict[str, list[Call]] = {}
        self.scopes: list[Scope] = [Scope(self.tree, None)]
        self._index()

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the file, as Python's parser counts them."""
        return re.split(r"\r\n|\r|\n", self.text)

    def column(self, line: int, offset: int) -> int:
        """The column, from 1 and in characters, of a byte offset as Python's syntax trees have it."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return offset + 1 if text.isascii() else len(text.encode()[:offset].decode("utf-8", "replace")) + 1

    def source(self, node: ast.expr) -> str:
        """An expression as it is written, where it is in one line; else as Python would write it."""
        line = self.lines[node.lineno - 1]
        if node.end_lineno == node.lineno and line.isascii():  # so that bytes are characters
            return line[node.col_offset : node.end_col_offset]
        return ast.unparse(node)

    def all_calls(self, *names: str) -> Iterator[Call]:
        """The calls of these names."""
        for name in names:
            yield from self.calls.get(name, ())

    def dotted(self, node: ast.expr) -> str:
        """A name in full: `cute.copy` is "cutlass.cute.copy" after `import cutlass.cute as cute`; else ""."""
        words = words_of(node)
        return ".".join([self.aliases.get(words[0], words[0]), *words[1:]]) if words else ""

    def callers(self, scope: Scope) -> list[Call]:
        """The calls in this file of a function, by its plain name or as a method of `self`."""
        name = scope.name
        return [call for call in self._by_function.get(name, ()) if name]

    @cached_property
    def _by_function(self) -> dict[str, list[Call]]:
        names = {scope.name for scope in self.scopes}
        found: dict[str, list[Call]] = {}
        for node, scope in walk(self):
            if isinstance(node, ast.Call):
                func = node.func
                name = func.id if isinstance(func, ast.Name) else ""
                if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
                    name = func.attr if func.value.id == "self" else ""
                if name in names:
                    found.setdefault(name, []).append(Call(node, name, scope, ()))
        return found

    def _index(self) -> None:
        """One pass with an explicit stack: source may nest deeper than Python's own."""
        Entry = tuple[ast.AST, Scope, tuple[Test, ...]]  # noqa: N806
        stack: list[Entry] = [(self.tree, self.scopes[0], ())]
        pop, extend = stack.pop, stack.extend
        known: dict[type, tuple[str, ...]] = {}  # the fields of each kind of node that hold nodes
        while stack:
            node, scope, tests = pop()
            kind = node.__class__
            if kind is ast.Call:
                self._call(node, scope, tests)  # type: ignore[arg-type]
            elif kind in _FUNCTIONS:
                assert isinstance(node, Function)
                scope.values.setdefault(node.name, []).append(None)
                extend((each, scope, tests) for each in reversed(node.decorator_list))
                inner = Scope(node, scope, parameters=tuple(parameters_of(node)))
                self.scopes.append(inner)
                extend((each, inner, ()) for each in reversed(node.body))
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

    def _call(self, node: ast.Call, scope: Scope, tests: tuple[Test, ...]) -> None:
        func = node.func
        last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        if isinstance(func, ast.Name):
            last = self.aliases.get(last, last).rpartition(".")[2]
        if last in CALLS:
            self.calls.setdefault(last, []).append(Call(node, self.dotted(func), scope, tests))

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.asname:
                    self.aliases[each.asname] = each.name
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                self.aliases[each.asname or each.name] = f"{node.module or ''}.{each.name}"
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                assign(scope, target, node.value)
                name = self.dotted(node.value) if scope is self.scopes[0] else ""
                if isinstance(target, ast.Name) and name.startswith("cutlass."):
                    self.aliases[target.id] = name
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                assign(scope, node.target, node.value)
        elif isinstance(node, ast.NamedExpr):
            assign(scope, node.target, node.value)
        elif isinstance(node, ast.AugAssign | ast.For):
            assign(scope, node.target, None)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            assign(scope, node.optional_vars, None)


_PLAIN = frozenset(
    ("ctx", "op", "ops", "id", "attr", "arg", "name", "asname", "module", "level", "names", "kind", "rest",
     "type_comment", "type_ignores", "is_async", "simple", "conversion")
)  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
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
    (
        ast.Import,
        ast.ImportFrom,
        ast.Assign,
        ast.AnnAssign,
        ast.NamedExpr,
        ast.AugAssign,
        ast.For,
        ast.withitem,
    )
)


def walk(module: Module) -> Iterator[tuple[ast.AST, Scope]]:
    """Every node with its scope."""
    for scope in module.scopes:
        stack: list[ast.AST] = [scope.node]
        while stack:
            node = stack.pop()
            yield node, scope
            stack += [
                child
                for child in ast.iter_child_nodes(node)
                if not isinstance(child, _FUNCTIONS) and child not in getattr(node, "decorator_list", ())
            ]


def names_in(node: ast.AST) -> set[str]:
    """The names that an expression reads."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
