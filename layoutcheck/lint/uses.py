"""The functions and classes of a file, and the names that each of them uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from layoutcheck.lint.outlines import ANY, asked_for, fixture_of, of_every_test
from layoutcheck.lint.scopes import parameters_of
from layoutcheck.lint.text import Unreadable, decode, parsed
from layoutcheck.syntax import words_of

_WORDS = re.compile(r"[A-Za-z_][\w.:]{0,200}\Z")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_PYTEST = ("setup", "teardown")  # what pytest calls by itself, beside tests, hooks and fixtures
_NO_BASES = ("object", "ABC", "Generic", "Protocol", "NamedTuple", "Enum")  # call no method of a class
_PLAIN = frozenset(  # the first or last word of decorators that keep nothing
    ("abc", "abstractmethod", "cache", "cached_property", "classmethod", "contextlib", "contextmanager",
     "cute", "cutlass", "dataclass", "dataclasses", "dsl_user_op", "final", "functools", "inference_mode",
     "jit", "lru_cache", "no_grad", "overload", "override", "property", "pytest", "staticmethod", "torch",
     "typing", "wraps")
)  # fmt: skip
_IMPORTING = (  # functions that run a file; its name may be made while the program runs
    "import_module", "__import__", "spec_from_file_location", "iter_modules", "walk_packages", "run_path",
    "run_module", "load_source",
)  # fmt: skip
EVERY = "*"  # such a name
FIXTURES = "@"  # the name of all fixtures, where one is asked for by such a name
_MOST_WORDS = 200  # characters of a string that may name files
_REGISTERING = ("library", "custom_op", "register")  # words of torch's that keep a function


@dataclass(slots=True)
class Scope:
    """A function, a class, or a file's own statements (`name` ""), without the definitions in it."""

    path: str
    name: str
    first: int = 0
    last: int = 0
    parent: Scope | None = None
    children: list[Scope] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)  # in strings, and of what has no known owner
    names: set[str] = field(default_factory=set)  # of no variable, nor import, of its own
    attributes: set[tuple[str, str]] = field(default_factory=set)  # of what was imported: from where, name
    given: set[str] = field(default_factory=set)  # imported by name: dotted
    own: set[tuple[str, str]] = field(default_factory=set)  # of `self`: its class, name
    imports: set[str] = field(default_factory=set)  # the last words of files' names
    binds: dict[str, set[str]] = field(default_factory=dict)  # what a file imports, as in `given`
    aliases: set[str] = field(default_factory=set)  # names that other files give it
    bases: tuple[str, ...] | None = None  # of a class
    entry: bool = False  # pytest calls it
    kept: bool = False  # by a decorator
    fixture: bool = False

    @property
    def qualified(self) -> str:
        """`Class.method`."""
        parts, at = [], self
        while at.parent is not None:
            parts.append(at.name)
            at = at.parent
        return ".".join(reversed(parts))


@dataclass(slots=True)
class _Names:
    """What names mean in a scope: `modules` are what imports bind, nothing for variables.

    `given` are the names that an import changes, "" for variables. `owner` is the class of `self`.
    """

    given: dict[str, str] = field(default_factory=dict)
    modules: dict[str, set[str]] = field(default_factory=dict)
    self: str = ""
    owner: str = ""

    def inside(self, node: ast.AST, scope: Scope) -> _Names:
        """The names in a definition that stands in `scope`."""
        inner = _Names(dict(self.given), dict(self.modules), self.self, self.owner)
        if isinstance(node, _FUNCTIONS):
            arguments = parameters_of(node)
            if scope.bases is not None and arguments:
                inner.self, inner.owner = arguments[0], scope.name
            elif inner.self in arguments:
                inner.self = ""
            for name in {*arguments, *_assigned(node)}:
                inner.given[name], inner.modules[name] = "", set()
        return inner


def read(raw: bytes, path: str, pytest: bool, script: bool) -> Scope | None:
    """The scopes of a file; None where it cannot be parsed."""
    try:
        tree = parsed(decode(raw))
    except Unreadable:
        return None
    top, names = Scope(path, ""), _Names()
    for node in tree.body:
        if not (isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)) or script:
            _take(node, top, names, pytest)
    top.binds = names.modules
    return top


def _take(node: ast.AST, scope: Scope, names: _Names, pytest: bool) -> None:
    """Put a statement or expression into the scope that it runs in, and definitions beside it."""
    if isinstance(node, _DEFINITIONS):
        _define(node, scope, names, pytest)
        return
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        source = getattr(node, "module", None) or ""
        scope.imports.update(source.split("."))
        begin = _begin(scope.path, getattr(node, "level", 0), source)
        for each in node.names:
            scope.imports.update(set(each.name.split(".")) - {EVERY})
            name = each.asname or each.name
            if each.asname:
                names.given[name] = each.name.rpartition(".")[2]
            dotted = f"{begin}.{each.name}" if isinstance(node, ast.ImportFrom) else each.name
            names.modules[name] = {*names.modules.get(name, ()), dotted}
        return
    if isinstance(node, ast.Assign) and any(
        isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets
    ):
        return
    if isinstance(node, ast.Name):
        if node.id not in names.modules:
            scope.names.add(node.id)
        scope.given.update(names.modules.get(node.id, ()))
    elif isinstance(node, ast.Attribute):
        before = ".".join(words_of(node.value))
        if names.modules.get(before):
            scope.attributes.update((dotted, node.attr) for dotted in names.modules[before])
        elif before and before == names.self:
            scope.own.add((names.owner, node.attr))
        else:
            scope.uses.add(node.attr)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _WORDS.match(node.value):
        scope.uses.update(re.split(r"[.:]+", node.value))
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= _MOST_WORDS:
        scope.imports.update(re.findall(r"\w+", node.value))
    elif isinstance(node, ast.Call) and _last(node.func) in _IMPORTING:
        scope.imports.update({EVERY} if not isinstance((node.args or [None])[0], ast.Constant) else ())
    for child in ast.iter_child_nodes(node):
        _take(child, scope, names, pytest)


def _begin(path: str, level: int, source: str) -> str:
    """The module that a name is imported from; of a relative one all words of its path, behind a dot."""
    above = PurePath(path).parents
    folder = above[level - 1].parts if 0 < level <= len(above) else ()
    return ".".join(["", *folder, *filter(None, [source])]) if level else source


def _define(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: Scope, names: _Names, pytest: bool
) -> None:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    made = Scope(scope.path, node.name, first, node.end_lineno or node.lineno, scope)
    scope.children.append(made)
    for one in node.decorator_list:
        _take(one, scope, names, pytest)
    made.kept = any(map(_keeps, node.decorator_list))
    inner = names.inside(node, scope)
    if isinstance(node, ast.ClassDef):
        made.bases = tuple(filter(None, map(_last, node.bases)))
        made.entry = pytest and node.name.startswith("Test")
        for base in node.bases:
            _take(base, made, inner, pytest)
        for keyword in node.keywords:
            _take(keyword.value, made, inner, pytest)
    else:
        made.entry = of_every_test(node, names.given) or (pytest and node.name.startswith(("test", *_PYTEST)))
        for each in _defaults(node.args):
            _take(each, scope, names, pytest)
        made.fixture = fixture_of(node, names.given) is not None
        if pytest or made.fixture:  # fixtures are called by the names of arguments, or by names that are made
            made.uses.update(
                (*parameters_of(node), *(FIXTURES for name in asked_for(node, names.given) if name == ANY))
            )
    for child in node.body:
        _take(child, made, inner, pytest)


def _assigned(node: ast.AST) -> set[str]:
    """The variables of a function: names that it gives values to, and no definition of its own has."""
    found, others = set[str](), set[str]()
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        at = waiting.pop()
        if isinstance(at, _DEFINITIONS):
            others.add(at.name)
            continue
        if isinstance(at, (ast.Global, ast.Nonlocal)):
            others.update(at.names)
        elif isinstance(at, (ast.Import, ast.ImportFrom)):
            others.update(one.asname or one.name for one in at.names)
        elif isinstance(at, ast.Name) and isinstance(at.ctx, ast.Store):
            found.add(at.id)
        waiting += ast.iter_child_nodes(at)
    return found - others


def _keeps(decorator: ast.expr) -> bool:
    """Whether a decorator may keep a function, for somebody to call it by another name."""
    if isinstance(decorator, ast.Call) and any(key.arg == "name" for key in decorator.keywords):
        return True
    words = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator).split(".")
    if any(word.startswith(_REGISTERING) for word in words):
        return True
    return words[0] not in _PLAIN and words[-1] not in _PLAIN


def _last(node: ast.expr) -> str:
    """`C` of `module.C` and of `C[int]`; "" for a class that calls no method."""
    if isinstance(node, ast.Subscript):
        node = node.value
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return "" if name in _NO_BASES else name


def _defaults(args: ast.arguments) -> Iterator[ast.expr]:
    yield from args.defaults
    yield from filter(None, args.kw_defaults)
    for one in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        if one.annotation is not None:
            yield one.annotation
