"""Which functions of a repository its programs may call, by the names that they use.

A file counts as imported if code that may run has its name: in an import, as a name or in a string. If a name
may be made while a program runs (`import_module(name)`), all files do. A function counts as called if code
that may run uses its name: as a name, an attribute, or a string such as "op" or "library::op". As far as the
files tell it, an attribute of an imported module is that module's, one of `self` is of a class of its family,
and a variable of a function is no other function. What has a decorator that may keep it for later counts as
called. A class that is used brings its special methods, and all methods if a class outside of the repository
is among its bases. So nothing calls what does not count, as far as names tell; what counts may stand behind a
condition that no program meets.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import PurePath

from layoutcheck.lint.outlines import ANY, asked_for, fixture_of, of_every_test
from layoutcheck.lint.scopes import parameters_of
from layoutcheck.lint.text import Unreadable, decode, parsed
from layoutcheck.syntax import words_of

_WORDS = re.compile(r"[A-Za-z_][\w.:]{0,200}\Z")
_SPECIAL = re.compile(r"__\w+__\Z")
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
_OF_ALL = ("conftest.py", "sitecustomize.py")  # run before any program of their folder
_ANY = "*"  # such a name
_FIXTURES = "@"  # the name of all fixtures, where one is asked for by such a name
_MOST_WORDS = 200  # characters of a string that may name files
_REGISTERING = ("library", "custom_op", "register")  # words of torch's that keep a function


@dataclass(slots=True)
class _Scope:
    """A function, a class, or a file's own statements (`name` ""), without the definitions in it."""

    path: str
    name: str
    first: int = 0
    last: int = 0
    parent: _Scope | None = None
    children: list[_Scope] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    attributes: set[tuple[str, str]] = field(default_factory=set)  # of what was imported: from where, name
    own: set[tuple[str, str]] = field(default_factory=set)  # of `self`: its class, name
    imports: set[str] = field(default_factory=set)  # the last words of files' names
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
    """What names mean in a scope: `given` by an import, "" for variables; `modules` are what imports bind.

    `owner` is the class whose object `self` is.
    """

    given: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    self: str = ""
    owner: str = ""

    def inside(self, node: ast.AST, scope: _Scope) -> _Names:
        """The names in a definition that stands in `scope`."""
        inner = _Names(dict(self.given), dict(self.modules), self.self, self.owner)
        if isinstance(node, _FUNCTIONS):
            arguments = parameters_of(node)
            if scope.bases is not None and arguments:
                inner.self, inner.owner = arguments[0], scope.name
            elif inner.self in arguments:
                inner.self = ""
            bound = {*arguments, *_assigned(node)}
            inner.given.update(dict.fromkeys(bound, ""))
            for name in bound:
                inner.modules.pop(name, None)
        return inner


class Called:
    """What may run of a repository's files: `sources` by path, of which `tests` and `scripts` are run."""

    def __init__(self, sources: Mapping[str, bytes], tests: Iterable[str], scripts: Iterable[str]) -> None:
        run, asked = set(tests), set(scripts)
        self._files: dict[str, _Scope] = {}
        for path, raw in sources.items():
            pytest = path in run or path.rpartition("/")[2] == "conftest.py"
            scope = _read(raw, path, pytest, path in asked)
            if scope is not None:
                self._files[path] = scope
        self._named: dict[str, list[_Scope]] = {}
        for scope in self._files.values():
            for each in _below(scope):
                for name in (each.name, _FIXTURES) if each.fixture else (each.name,):
                    self._named.setdefault(name, []).append(each)
        self._families: dict[str, set[str]] = {}
        self._heirs: dict[str, set[str]] = {}
        for scopes in self._named.values():
            for one in scopes:
                for base in one.bases or ():
                    self._heirs.setdefault(base, set()).add(one.name)
        self._modules: dict[str, list[str]] = {_ANY: list(self._files)}
        for path in self._files:
            self._modules.setdefault(_stem(path), []).append(path)
        self._words = {word for path in self._files for word in PurePath(path).with_suffix("").parts}
        self._used: set[str] = set()
        self._meant: set[int] = set()  # functions and classes that are used as such, not by a name alone
        self._runs: set[int] = set()
        self._programs = {path for path in self._files if path in run | asked}
        self._each: dict[str, set[int]] = {}  # what runs of a program alone
        self._follow(self._programs)

    def reaches(self, program: str, path: str, line: int) -> bool:
        """Whether a program may run the functions around a line, as far as names tell."""
        if program not in self._each:
            alone = copy(self)
            alone._used, alone._meant, alone._runs = set(), set(), set()
            alone._follow({program} & self._programs)
            self._each[program] = alone._runs
        return any(id(one) in self._each[program] for one in self._around(path, line)[-1:])

    def uncalled(self, path: str, line: int) -> str:
        """The outermost function around a line that nothing calls; "" for none, or where it is not known."""
        return next((one.qualified for one in self._around(path, line) if id(one) not in self._runs), "")

    def span(self, path: str, line: int) -> range:
        """The lines of the innermost function around a line; none for a file's own statements."""
        around = self._around(path, line)
        return range(around[-1].first, around[-1].last + 1) if around else range(0)

    def around(self, path: str, line: int) -> list[tuple[str, range]]:
        """The names and lines of the functions and classes around a line, from the outside."""
        return [(one.name, range(one.first, one.last + 1)) for one in self._around(path, line)]

    def _around(self, path: str, line: int) -> list[_Scope]:
        """The functions and classes around a line, from the outside."""
        at, found = self._files.get(path), []
        while at is not None:
            at = next((one for one in at.children if one.first <= line <= one.last), None)
            if at is not None:
                found.append(at)
        return found

    def _follow(self, programs: Iterable[str]) -> None:
        begun = (*programs, *(path for path in self._files if path.rpartition("/")[2] in _OF_ALL))
        waiting, known = [self._files[path] for path in begun], set[str]()
        while waiting:
            scope = waiting.pop()
            if id(scope) in self._runs:
                continue
            self._runs.add(id(scope))
            waiting += [one for one in scope.children if self._begins(one)]
            self._meant.update(map(id, meant := self._mean(scope)))
            waiting += [one for one in meant if self._begins(one)]
            for name in scope.uses - self._used:
                self._used.add(name)
                waiting += [one for one in self._named.get(name, ()) if self._begins(one)]
            for name in (scope.uses | scope.imports) - known:
                known.add(name)
                waiting += [self._files[path] for path in self._modules.get(name, ())]
            if scope.parent is None:  # the packages that it is in come first
                inits = (str(folder / "__init__.py") for folder in PurePath(scope.path).parents)
                waiting += [self._files[path] for path in inits if path in self._files]

    def _begins(self, scope: _Scope) -> bool:
        """Whether code that runs calls it."""
        parent = scope.parent
        if parent is None or id(parent) not in self._runs:
            return False
        if scope.entry or scope.kept or scope.name in self._used or id(scope) in self._meant:
            return True
        if scope.fixture and _FIXTURES in self._used:
            return True
        special = _SPECIAL.match(scope.name) is not None
        return parent.bases is not None and (special or self._derived(parent))

    def _mean(self, scope: _Scope) -> list[_Scope]:
        """What attributes of modules and of `self` in a scope are; others count by their names."""
        found: list[_Scope] = []
        for dotted, name in scope.attributes:
            files = self._imported(dotted)
            here = [one for path in files for one in self._files[path].children if one.name == name]
            inside = bool(files) or dotted.startswith(".") or dotted.split(".")[0] in self._words
            found += here
            if not here and inside:
                scope.uses.add(name)
        for owner, name in scope.own:
            family = self._family(owner)
            here = [one for one in self._named.get(name, ()) if one.parent and one.parent.name in family]
            found += here
            if not here:
                scope.uses.add(name)
        return found

    def _imported(self, dotted: str) -> list[str]:
        """The files that a module's name may mean."""
        parts = tuple(filter(None, dotted.split(".")))
        return [
            path
            for path in self._modules.get(parts[-1] if parts else "", ())
            if _module(path)[-len(parts) :] == parts
        ]

    def _family(self, owner: str) -> set[str]:
        """The names of the classes that a class is derived from, or that are derived from these."""
        if owner not in self._families:
            found, waiting = {owner}, [owner]
            while waiting:
                name = waiting.pop()
                near = {base for one in self._named.get(name, ()) for base in one.bases or ()}
                near |= self._heirs.get(name, set())
                waiting += near - found
                found |= near
            self._families.update(dict.fromkeys(found, found))
        return self._families[owner]

    def _derived(self, scope: _Scope, depth: int = 8) -> bool:
        """Whether a class outside of the repository is among the bases of a class."""
        for name in scope.bases or ():
            classes = [one for one in self._named.get(name, ()) if one.bases is not None and one is not scope]
            if not classes or (depth and any(self._derived(one, depth - 1) for one in classes)):
                return True
        return False


def _read(raw: bytes, path: str, pytest: bool, script: bool) -> _Scope | None:
    """The scopes of a file; None where it cannot be parsed."""
    try:
        tree = parsed(decode(raw))
    except Unreadable:
        return None
    top, names = _Scope(path, ""), _Names()
    for node in tree.body:
        if not (isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)) or script:
            _take(node, top, names, pytest)
    return top


def _take(node: ast.AST, scope: _Scope, names: _Names, pytest: bool) -> None:
    """Put a statement or expression into the scope that it runs in, and definitions beside it."""
    if isinstance(node, _DEFINITIONS):
        _define(node, scope, names, pytest)
        return
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        source = getattr(node, "module", None) or ""
        scope.imports.update(source.split("."))
        begin = "." * bool(getattr(node, "level", 0)) + source
        for each in node.names:
            scope.imports.update(set(each.name.split(".")) - {_ANY})
            if each.asname:
                names.given[each.asname] = each.name.rpartition(".")[2]
            dotted = f"{begin}.{each.name}" if isinstance(node, ast.ImportFrom) else each.name
            names.modules[each.asname or each.name] = dotted
        return
    if isinstance(node, ast.Assign) and any(
        isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets
    ):
        return
    if isinstance(node, ast.Name):
        name = names.given.get(node.id, node.id)
        scope.uses.update((node.id, name) if name else ())
    elif isinstance(node, ast.Attribute):
        before = ".".join(words_of(node.value))
        if before in names.modules:
            scope.attributes.add((names.modules[before], node.attr))
        elif before and before == names.self:
            scope.own.add((names.owner, node.attr))
        else:
            scope.uses.add(node.attr)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _WORDS.match(node.value):
        scope.uses.update(re.split(r"[.:]+", node.value))
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= _MOST_WORDS:
        scope.imports.update(re.findall(r"\w+", node.value))
    elif isinstance(node, ast.Call) and _last(node.func) in _IMPORTING:
        scope.imports.update({_ANY} if not isinstance((node.args or [None])[0], ast.Constant) else ())
    for child in ast.iter_child_nodes(node):
        _take(child, scope, names, pytest)


def _module(path: str) -> tuple[str, ...]:
    """The words of a module's dotted name, its folder's first."""
    at = PurePath(path)
    return at.parent.parts if at.name == "__init__.py" else at.with_suffix("").parts


def _stem(path: str) -> str:
    """The last word of a module's dotted name."""
    at = PurePath(path)
    return at.parent.name if at.name == "__init__.py" else at.stem


def _define(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: _Scope, names: _Names, pytest: bool
) -> None:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    made = _Scope(scope.path, node.name, first, node.end_lineno or node.lineno, scope)
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
                (*parameters_of(node), *(_FIXTURES for name in asked_for(node, names.given) if name == ANY))
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


def _below(scope: _Scope) -> Iterator[_Scope]:
    for one in scope.children:
        yield one
        yield from _below(one)
