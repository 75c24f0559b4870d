"""Which functions of a repository its programs may call, by the names that they use.

A file counts as imported if code that may run has its name: in an import, as a name or in a string. If a name
may be made while a program runs (`import_module(name)`), all files do. A function counts as called if code
that may run uses its name: as a name, an attribute, or a string such as "op" or "library::op". So does one
with a decorator that may keep it for later. A class that is used brings its special methods, and all methods
if a class outside of the repository is among its bases. So nothing calls what does not count, as far as names
tell; what counts may stand behind a condition that no program meets.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from layoutcheck.lint.text import Unreadable, decode, parsed

_WORDS = re.compile(r"[A-Za-z_][\w.:]{0,200}\Z")
_SPECIAL = re.compile(r"__\w+__\Z")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_PYTEST = ("setup", "teardown", "pytest_")  # what pytest calls by itself, beside tests
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
_ANY = "*"  # such a name
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
    imports: set[str] = field(default_factory=set)  # the last words of files' names
    bases: tuple[str, ...] | None = None  # of a class
    entry: bool = False  # pytest calls it
    kept: bool = False  # by a decorator

    @property
    def qualified(self) -> str:
        """`Class.method`."""
        parts, at = [], self
        while at.parent is not None:
            parts.append(at.name)
            at = at.parent
        return ".".join(reversed(parts))


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
                self._named.setdefault(each.name, []).append(each)
        self._modules: dict[str, list[str]] = {_ANY: list(self._files)}
        for path in self._files:
            self._modules.setdefault(_stem(path), []).append(path)
        self._used: set[str] = set()
        self._runs: set[int] = set()
        self._follow(path for path in self._files if path in run | asked or _of_all(path))

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
        waiting, known = [self._files[path] for path in programs], set[str]()
        while waiting:
            scope = waiting.pop()
            if id(scope) in self._runs:
                continue
            self._runs.add(id(scope))
            waiting += [one for one in scope.children if self._begins(one)]
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
        if scope.entry or scope.kept or scope.name in self._used:
            return True
        special = _SPECIAL.match(scope.name) is not None
        return parent.bases is not None and (special or self._derived(parent))

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
    top, aliases = _Scope(path, ""), dict[str, str]()
    for node in tree.body:
        if not (isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)) or script:
            _take(node, top, aliases, pytest)
    return top


def _take(node: ast.AST, scope: _Scope, aliases: dict[str, str], pytest: bool) -> None:
    """Put a statement or expression into the scope that it runs in, and definitions beside it.

    `aliases` has the names that an import gave to something else, and arguments as "".
    """
    if isinstance(node, _DEFINITIONS):
        _define(node, scope, aliases, pytest)
        return
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        scope.imports.update((getattr(node, "module", None) or "").split("."))
        for each in node.names:
            scope.imports.update(set(each.name.split(".")) - {_ANY})
            if each.asname:
                aliases[each.asname] = each.name.rpartition(".")[2]
        return
    if isinstance(node, ast.Assign) and any(
        isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets
    ):
        return
    if isinstance(node, ast.Name):
        name = aliases.get(node.id, node.id)
        scope.uses.update((node.id, name) if name else ())
    elif isinstance(node, ast.Attribute):
        scope.uses.add(node.attr)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _WORDS.match(node.value):
        scope.uses.update(re.split(r"[.:]+", node.value))
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= _MOST_WORDS:
        scope.imports.update(re.findall(r"\w+", node.value))
    elif isinstance(node, ast.Call) and _last(node.func) in _IMPORTING:
        scope.imports.update({_ANY} if not isinstance((node.args or [None])[0], ast.Constant) else ())
    for child in ast.iter_child_nodes(node):
        _take(child, scope, aliases, pytest)


def _stem(path: str) -> str:
    """The last word of a module's dotted name."""
    at = PurePath(path)
    return at.parent.name if at.name == "__init__.py" else at.stem


def _of_all(path: str) -> bool:
    """Whether a file runs before any program of its folder."""
    return path.rpartition("/")[2] in ("conftest.py", "sitecustomize.py")


def _define(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
    scope: _Scope,
    aliases: dict[str, str],
    pytest: bool,
) -> None:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    made = _Scope(scope.path, node.name, first, node.end_lineno or node.lineno, scope)
    scope.children.append(made)
    for one in node.decorator_list:
        _take(one, scope, aliases, pytest)
    made.kept = any(map(_keeps, node.decorator_list))
    inner = dict(aliases)
    if isinstance(node, ast.ClassDef):
        made.bases = tuple(filter(None, map(_last, node.bases)))
        made.entry = pytest and node.name.startswith("Test")
        for base in node.bases:
            _take(base, made, inner, pytest)
        for keyword in node.keywords:
            _take(keyword.value, made, inner, pytest)
    else:
        made.entry = pytest and (node.name.startswith("test") or _of_pytest(node))
        for each in _defaults(node.args):
            _take(each, scope, aliases, pytest)
        arguments = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        if pytest:  # fixtures are called by the names of arguments
            made.uses.update(arguments)
        inner.update(dict.fromkeys(arguments, ""))
    for child in node.body:
        _take(child, made, inner, pytest)


def _of_pytest(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether pytest calls a function that is not a test: a hook, or a fixture that no test names."""
    fixture = any("autouse" in ast.unparse(one) for one in node.decorator_list)
    return node.name.startswith(_PYTEST) or fixture


def _keeps(decorator: ast.expr) -> bool:
    """Whether a decorator may keep a function, for somebody to call it by another name."""
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
