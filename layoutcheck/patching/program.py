"""A program's source: which calls the arguments of a copy come from.

Names are followed backwards: to their assignments in the function, from a parameter to the arguments of the
function's calls, to the module's own assignments, and through the expressions on the way. What is found is
every call that the value may come from, nearest first; nobody has to believe it, as edits are proven.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from layoutcheck.lint.scopes import Scope
from layoutcheck.lint.source import COPIES, Source
from layoutcheck.patching.edit import Edit, rewritten
from layoutcheck.syntax import argument_of, name_of, paired, spans

MAX_STEPS = 400  # expressions looked at for one argument
ROLES = {"src": 1, "dst": 2}


@dataclass(frozen=True, slots=True)
class Site:
    """An expression of a file, in the scope that it is evaluated in."""

    path: str
    node: ast.expr
    scope: Scope = field(compare=False)

    @property
    def call(self) -> ast.Call:
        """The expression, which is a call."""
        assert isinstance(self.node, ast.Call)
        return self.node


class Program:
    """The files of a program, by path."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.sources = {path: Source(path, text) for path, text in texts.items()}

    def calls_of(self, name: str) -> int:
        """How many calls of a function there are, by its name."""
        return sum(name_of(call) == name for source in self.sources.values() for call in source.calls())

    def defines(self, name: str) -> bool:
        """Whether a function of that name is the program's own."""
        return any(name == scope.name for source in self.sources.values() for scope in source.scopes[1:])

    def copy_at(self, path: str, line: int) -> Site | None:
        """The call of `cute.copy` or its like, or of a `partial` of it, that begins at or spans a line."""
        source = self.sources.get(path)
        if source is None:
            return None
        near = [call for call in source.calls() if spans(call, line)]
        found = {id(whole): (call, whole) for call in near if (whole := self._copying(source, call))}
        if not found:
            return None
        call, whole = min(found.values(), key=lambda pair: (pair[0].lineno != line, -pair[0].lineno))
        return Site(path, whole, source.scope_of(call))

    def _copying(self, source: Source, call: ast.Call) -> ast.Call | None:
        """A call of a copy with all of its arguments: those of the `partial` that is called come first."""
        if name_of(call) in COPIES:
            return call
        if not isinstance(call.func, ast.Name) or not call.args:
            return None
        for made in self._named(Site(source.path, call, source.scope_of(call)), call.func.id):
            bound = made.node
            if isinstance(bound, ast.Call) and name_of(bound) == "partial" and bound.args:
                copy, *first = bound.args
                whole = ast.Call(copy, [*first, *call.args], [*bound.keywords, *call.keywords])
                return ast.copy_location(whole, call) if name_of(whole) in COPIES else None
        return None

    def argument(self, site: Site, role: str) -> Site | None:
        """The expression of an operand ("src", "dst", "atom", "pred") of a copy's call."""
        call = site.call
        for keyword in call.keywords:
            if keyword.arg == role:
                return Site(site.path, keyword.value, site.scope)
        if role == "pred":
            return None
        shift = 0 if name_of(call) in ("copy", "copy_atom_call") else 1
        at = 0 if role == "atom" else ROLES[role] - shift
        if role == "atom" and shift:
            return None
        return Site(site.path, call.args[at], site.scope) if at < len(call.args) else None

    def rewritten(self, site: Site, new: str) -> Edit:
        """The expression of a site written otherwise."""
        return rewritten(self.sources[site.path], site.node, new)

    def reached(self, start: Site) -> Iterator[Site]:
        """The calls that the value of an expression may come from, nearest first."""
        return (site for site in self.behind(start) if isinstance(site.node, ast.Call))

    def reached_by(self, site: Site, *roles: str) -> Iterator[Site]:
        """The calls that operands of a copy's call may come from, one operand after the other."""
        starts = (self.argument(site, role) for role in roles)
        return (place for start in starts if start is not None for place in self.reached(start))

    def behind(self, start: Site) -> Iterator[Site]:
        """The expressions that the value of an expression may come from, nearest first."""
        queue, seen = [start], set[int]()
        for site in queue:
            if id(site.node) in seen or len(seen) > MAX_STEPS:
                continue
            seen.add(id(site.node))
            yield site
            queue.extend(self._next(site))

    def definition(self, site: Site) -> Site:
        """What the one assignment of a name says, and so on; an expression without one is its own."""
        for _ in range(MAX_STEPS):
            found = self.alternatives(site)
            if len(found) != 1:
                break
            site = found[0]
        return site

    def alternatives(self, site: Site) -> list[Site]:
        """What a name or an attribute may be, one step back; nothing for other expressions."""
        if isinstance(site.node, ast.Name):
            return list(self._named(site, site.node.id))
        return list(self._attributes(site, site.node)) if isinstance(site.node, ast.Attribute) else []

    def _next(self, site: Site) -> Iterator[Site]:
        node = site.node
        if isinstance(node, ast.Name):
            yield from self._named(site, node.id)
        elif isinstance(node, ast.Attribute):
            yield Site(site.path, node.value, site.scope)
            yield from self._attributes(site, node)
        else:
            if isinstance(node, ast.Call):
                yield from self._returned(name_of(node))
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.keyword):
                    yield Site(site.path, child.value, site.scope)
                elif isinstance(child, ast.comprehension):  # what its names are given
                    yield Site(site.path, child.iter, site.scope)
                elif isinstance(child, ast.expr):
                    yield Site(site.path, child, site.scope)

    def _named(self, site: Site, name: str) -> Iterator[Site]:
        """What a name is assigned in its function, else what its parameter is given, else globally."""
        scope = site.scope
        found = scope.given(name)
        if found:
            yield from (Site(site.path, value, scope) for value in found)
        elif scope.parent is None:
            yield from self._from_module(self.sources[site.path], name)
        elif name in scope.parameters:
            yield from self.given(scope, name)
        else:
            yield from self._named(Site(site.path, site.node, scope.parent), name)

    def _returned(self, name: str) -> Iterator[Site]:
        """What a function of the program returns."""
        for path, source in self.sources.items():
            yield from (Site(path, value, scope) for value, scope in source.returns if scope.name == name)

    def given(self, scope: Scope, name: str) -> Iterator[Site]:
        """What every call of a function, by its name, gives one of its parameters."""
        function = scope.node
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or name not in scope.parameters:
            return
        position = scope.parameters.index(name)
        method = bool(function.args.args) and function.args.args[0].arg in ("self", "cls")
        default, everywhere, called = _default(function, name), True, False
        for path, source in self.sources.items():
            for call in source.calls():
                if name_of(call) == function.name:
                    at = position - (method and isinstance(call.func, ast.Attribute))
                elif self._makes(source, call, function):
                    at = position - method
                elif (passed := _passed(call, function.name)) is not None:  # cute.compile(host, ...)
                    at = passed + 1 + position - method
                elif (passed := self._passed_instance(source, call, function)) is not None:
                    at = passed + position - method
                else:
                    continue
                value = argument_of(call, name)
                if value is None:
                    spread = _spread(source, call)
                    value = spread[at] if 0 <= at < len(spread) else None
                if value is not None:
                    yield Site(path, value, source.scope_of(call))
                everywhere = everywhere and value is not None
                called = True
        if default is not None and not (called and everywhere):
            path = next(path for path, source in self.sources.items() if scope in source.scopes)
            yield Site(path, default, scope.parent or scope)

    def _class_of(self, function: ast.AST) -> str | None:
        """The class that a method is of."""
        found = (one.classes[function] for one in self.sources.values() if function in one.classes)
        return next(found, None)

    def _makes(self, source: Source, call: ast.Call, function: ast.AST) -> bool:
        """Whether a call makes an object whose `__init__` the function is: by the class, or as `cls`."""
        if getattr(function, "name", "") != "__init__":
            return False
        owner = self._class_of(function)
        if name_of(call) == "cls":
            return owner is not None and source.classes.get(source.scope_of(call).node) == owner
        return name_of(call) == owner

    def _passed_instance(self, source: Source, call: ast.Call, function: ast.AST) -> int | None:
        """Where the arguments of a class's `__call__` begin in `cute.compile(made, ...)` or `made(...)`."""
        owner = self._class_of(function)
        compiled = name_of(call) == "compile" and bool(call.args)
        if owner is None or getattr(function, "name", "") != "__call__":
            return None
        target = call.args[0] if compiled else call.func
        made = [target]
        if isinstance(target, ast.Name):  # its own assignments alone: parameters would lead back here
            made = [value for scope in source.scopes for value in scope.given(target.id)]
        instance = any(isinstance(one, ast.Call) and name_of(one) == owner for one in made)
        return int(compiled) if instance else None

    def _attributes(self, site: Site, node: ast.Attribute) -> Iterator[Site]:
        """What `self.name` and the like are assigned in the file, or are in a `cute.struct` or a dataclass.

        `module.name` is what the module gives the name; a property is what it returns.
        """
        name, found = node.attr, False
        for one, owner in self.sources[site.path].assignments:
            if isinstance(one, ast.Assign):
                for target, value in (pair for each in one.targets for pair in paired(each, one.value)):
                    if isinstance(target, ast.Attribute) and target.attr == name:
                        found = True
                        yield Site(site.path, value, owner)
            elif one.value is None and getattr(one.target, "id", "") == name:
                yield Site(site.path, one.annotation, owner)
        if found or name in _OF_TENSORS:
            return
        yield from self._fields(name)
        for path, source in self.sources.items():
            if isinstance(node.value, ast.Name) and _module_of(path) == node.value.id:
                yield from self._named(Site(path, node, source.scopes[0]), name)
            yield from (
                Site(path, value, owner)
                for value, owner in source.returns
                if owner.name == name and _is_property(owner)
            )

    def _fields(self, name: str) -> Iterator[Site]:
        """What the objects of a class are made with for one of its fields; its default where one is not."""
        for path, source in self.sources.items():
            for owner, field_name, default in source.fields:
                if field_name != name:
                    continue
                fields = [one for cls, one in source.annotated if cls == owner]
                calls = [
                    (where, other, call)
                    for where, other in self.sources.items()
                    for call in other.calls()
                    if name_of(call) == owner and name in fields
                ]
                given = [argument_of(call, name, fields.index(name)) for _, _, call in calls]
                yield from (
                    Site(where, value, other.scope_of(call))
                    for (where, other, call), value in zip(calls, given, strict=True)
                    if value is not None
                )
                if None in given or not given:
                    yield Site(path, default, source.scopes[0])

    def _from_module(self, source: Source, name: str) -> Iterator[Site]:
        """What a module of the program gives a name that a file imports from it."""
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ImportFrom):
                for one in node.names:
                    if (one.asname or one.name) == name:
                        module = (node.module or "").rpartition(".")[2]
                        for path, other in self.sources.items():
                            if path != source.path and _module_of(path) == module:
                                site = Site(path, ast.Name(one.name), other.scopes[0])
                                yield from self._named(site, one.name)


_OF_TENSORS = frozenset(
    ("shape", "stride", "layout", "iterator", "element_type", "dtype", "type", "inner", "outer", "value")
)
"""Attributes of tensors and layouts, which are no fields of the program's own classes."""


def _module_of(path: str) -> str:
    """The last part of the name that a file is imported by."""
    file = PurePath(path)
    return file.parent.name if file.stem == "__init__" else file.stem


def _is_property(scope: Scope) -> bool:
    decorators = getattr(scope.node, "decorator_list", [])
    return any(ast.unparse(one).endswith("property") for one in decorators)


def _spread(source: Source, call: ast.Call) -> list[ast.expr]:
    """The positional arguments; those of `*name` where the name is assigned one tuple in the function."""
    found: list[ast.expr] = []
    for argument in call.args:
        if not isinstance(argument, ast.Starred):
            found.append(argument)
            continue
        name = getattr(argument.value, "id", "")
        made = source.scope_of(call).given(name)
        if len(made) != 1 or not isinstance(made[0], (ast.Tuple, ast.List)):
            break  # what comes behind it has no known position
        found += made[0].elts
    return found


def _passed(call: ast.Call, name: str) -> int | None:
    """Which argument of a call a function is, by its name."""
    for i, argument in enumerate(call.args):
        last = argument.attr if isinstance(argument, ast.Attribute) else getattr(argument, "id", None)
        if last == name:
            return i
    return None


def _default(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.expr | None:
    """What a parameter is where no argument is given for it."""
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(plain), reversed(arguments.defaults), strict=False)]
    pairs += [
        (one, value) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value
    ]
    return next((value for one, value in pairs if one.arg == name), None)
