"""What a file's text says of its part in a program: the names that it uses and makes, and what it does."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TypeGuard

from layoutcheck.lint.cache import Cache, digest, tool_version
from layoutcheck.lint.text import Unreadable, decode, parsed
from layoutcheck.regular import read_regular
from layoutcheck.stored import reader
from layoutcheck.syntax import words_of

_BUILDERS = ("jit", "kernel", "compile")
COMPILE = "cutlass.cute.compile"
_WORDS = (b"import", b"def test", b"pytest_plugins")
_FROM = re.compile(r"^\s*from\s+([\w.]+)\s+import\b", re.MULTILINE)
_IMPORTS = re.compile(r"^\s*import\s+(.+)$", re.MULTILINE)
_DOTTED = re.compile(r"(?:^|,)\s*([\w.]+)")
_IMPORTERS = ("importlib.import_module", "__import__", "pytest.importorskip")
_RUNNERS = (  # of a file, by its path
    "importlib.util.spec_from_file_location", "runpy.run_path", "importlib.machinery.SourceFileLoader",
)  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_ASKING = ("usefixtures", "getfixturevalue")  # of pytest
_LAZY = ("lazy_fixture", "lf", "fixture_ref")  # of pytest-lazy-fixture, pytest-lazy-fixtures, pytest-cases
_RUNNING = (
    "pytest_sessionstart",
    "pytest_generate_tests",
    "pytest_runtest",
    "pytest_pyfunc_call",
    "pytest_fixture_setup",
)
_MOST_PLUGINS = 1000
ANY = "*"


@dataclass(frozen=True, slots=True)
class Outline:
    """What a file's text says of its part in a program.

    `names` are the dotted names that it uses of other modules (relative ones begin with their dots; `ANY`
    stands for one that is made while it runs),
    `exports` what it makes of them (name -> dotted name) and defines (name -> ""), `kernels` whether it uses
    the DSL's builders, `tests` whether it defines tests, `main` whether it asks for `__main__`,
    `calls` the functions that it calls as it is imported: dotted names, "" for one of its own. `takes` are
    the fixtures that its tests and fixtures ask for, `ANY` for a name that is made while they run. `gives`
    are its fixtures and pytest's hooks: the names that each uses of other modules, "" for one of its own, and
    the fixtures that it asks for behind an @. `always` of them are for every test. `plugins` are the modules
    that it names in `pytest_plugins`; the end of a name that is made while pytest runs is `ANY`, and so is
    what more than 1000 of them name.
    """

    names: tuple[str, ...] = ()
    exports: tuple[tuple[str, str], ...] = ()
    kernels: bool = False
    tests: bool = False
    main: bool = False
    calls: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    gives: tuple[tuple[str, tuple[str, ...]], ...] = ()
    always: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()


def outline(raw: bytes) -> Outline:
    """The outline of a file's text; what its lines show where Python cannot parse it."""
    text = raw.replace(b"\0", b"")
    if not any(word in text for word in _WORDS):
        return Outline()
    try:
        tree = parsed(decode(raw))
    except Unreadable:
        return _by_lines(text.decode("utf-8", "replace"))
    names, exports = _imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            dotted = _chain(node, exports)
            if dotted:
                names.add(dotted)
        elif isinstance(node, ast.Call):
            names.update(_by_function(node, exports, tree))
    kernels = any(name.startswith("cutlass.") and name.rpartition(".")[2] in _BUILDERS for name in names)
    tests = any(map(_is_tests, tree.body))
    for node in tree.body:
        if isinstance(node, _DEFINITIONS):
            exports.setdefault(node.name, "")
    main = any(isinstance(node, ast.If) and "__main__" in ast.unparse(node.test) for node in tree.body)
    compiling = {node.name for node in tree.body if _compiles(node, exports)}
    own = {node.name: node for node in tree.body if isinstance(node, _FUNCTIONS)}
    calls = {name for node in tree.body for name in _calls(node, exports, compiling, own)}
    every = list(_statements(tree.body))
    known = exports | _constants(every, exports)
    takes = {each.arg for node in every for each in _parameters(node, known)} | set(asked_for(tree, known))
    gives = tuple((name, _used(node, exports, known)) for node in every for name in _given(node, known))
    always = tuple(name for node in every if of_every_test(node, known) for name in _given(node, known))
    plugins = {name for node in every for name in _plugins(_assigned(node, "pytest_plugins"))}
    if len(plugins) > _MOST_PLUGINS:
        plugins = {ANY}
    return Outline(
        tuple(sorted(names)), tuple(sorted(exports.items())), kernels, tests, main, tuple(sorted(calls)),
        tuple(sorted(takes)), gives, always, tuple(sorted(plugins)),
    )  # fmt: skip


def _imported(tree: ast.Module) -> tuple[set[str], dict[str, str]]:
    """The names that a file imports, dotted, and its own names for them."""
    names, exports = set[str](), dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                names.add(each.name)
                top = each.name.partition(".")[0]
                exports[each.asname or top] = each.name if each.asname else top
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for each in node.names:
                dotted = f"{base}{'' if base.endswith('.') else '.'}{each.name}"
                names.add(dotted)
                exports[each.asname or each.name] = dotted
    return names, exports


def _by_lines(text: str) -> Outline:
    """The outline of a file that does not parse: one named as a test, or a script, is still to be run.

    pytest fails on such a test whatever it holds.
    """
    names = {f"{base}{'' if base.endswith('.') else '.'}*" for base in _FROM.findall(text)}
    names |= {name for line in _IMPORTS.findall(text) for name in _DOTTED.findall(line)}
    kernels = any(name.startswith("cutlass.") for name in names)
    main = "__main__" in text
    return Outline(tuple(sorted(names)), (), kernels, True, main)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a file, also those that a condition, a `try` or a `with` holds."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.With, ast.Match)):
            yield from _statements(each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt))
            ways = [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]
            yield from _statements(each for way in ways for each in way.body)


def _is_tests(node: ast.stmt) -> bool:
    """Whether pytest may find tests in a statement of a file: a function, or a class of theirs."""
    if isinstance(node, ast.ClassDef):
        return node.name.startswith("Test") or any(map(_is_tests, node.body))
    return isinstance(node, _DEFINITIONS) and node.name.startswith("test")


def _constants(body: Iterable[ast.stmt], exports: Mapping[str, str]) -> dict[str, str]:
    """What a file's other names stand for: its texts, and functions such as `pytest.fixture`.

    "" where there are several. What makes fixtures in a way of its own is a `fixture` behind the options.
    """
    found: dict[str, str] = {}
    for node in body:
        text, names = "", list[str]()
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [each.id for each in targets if isinstance(each, ast.Name)]
            value = node.value
            if isinstance(value, (ast.Attribute, ast.Name)):
                text = _chain(value, exports)
            elif isinstance(value, ast.Call):
                text = _maker(value)
            elif isinstance(value, ast.Constant) and isinstance(value.value, str):
                text = value.value
        elif isinstance(node, _FUNCTIONS) and not any(
            _last(each) == "fixture" for each in node.decorator_list
        ):
            text, names = next(filter(None, map(_maker, _calls_in(node))), ""), [node.name]
        for name in names if text else ():
            found[name] = text if found.get(name, text) == text else ""
    return found


def _calls_in(node: ast.AST) -> Iterator[ast.Call]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Call))


def _maker(call: ast.Call) -> str:
    """`autouse.name.fixture` for a call that makes fixtures, or what makes them, with these options."""
    partly = bool(call.args) and _last(call.func) == "partial"
    if _last(call.args[0] if partly else call.func) != "fixture":
        return ""
    return ".".join([*(key.arg or "autouse.name" for key in call.keywords), "fixture"])


def _parameters(node: ast.stmt, known: Mapping[str, str]) -> Iterator[ast.arg]:
    """What the tests and fixtures in a statement of a file take."""
    if isinstance(node, ast.ClassDef):
        for each in node.body:
            yield from _parameters(each, known)
    elif isinstance(node, _FUNCTIONS) and (node.name.startswith("test") or _fixture(node, known)):
        yield from (*node.args.args, *node.args.kwonlyargs)


def _fixture(node: ast.FunctionDef | ast.AsyncFunctionDef, known: Mapping[str, str]) -> str:
    """The name of the fixture that a function is; "" for another function, `ANY` for one made elsewhere."""
    made = fixture_of(node, known)
    keys = made.keywords if isinstance(made, ast.Call) else []
    given = [key.value for key in keys if key.arg == "name"]
    if made and not given and (any(key.arg is None for key in keys) or "name" in _options(made, known)):
        return ANY
    if not given or not made:
        return node.name if made else ""
    name = given[0]
    if isinstance(name, ast.Constant):
        return str(name.value or node.name)
    text = known.get(name.id, "") if isinstance(name, ast.Name) else ""
    return ANY if "." in text or not text else text


def fixture_of(node: ast.FunctionDef | ast.AsyncFunctionDef, known: Mapping[str, str]) -> ast.expr | None:
    """The decorator that makes a fixture of a function; `known` is what names of the file stand for."""
    return next((each for each in node.decorator_list if _meant(each, known).endswith("fixture")), None)


def of_every_test(node: ast.stmt, known: Mapping[str, str]) -> bool:
    """Whether pytest calls a function for tests that do not name it: a hook, or a fixture for all of them."""
    if not isinstance(node, _FUNCTIONS):
        return False
    made = fixture_of(node, known)
    given = made.keywords if isinstance(made, ast.Call) else []
    auto = made is not None and "autouse" in _options(made, known)
    return node.name.startswith("pytest_") or auto or any(key.arg in ("autouse", None) for key in given)


def _options(made: ast.expr, known: Mapping[str, str]) -> list[str]:
    """The options that a decorator's name stands for, as in `_constants`."""
    name = made.func if isinstance(made, ast.Call) else made
    return known.get(name.id, "").split(".") if isinstance(name, ast.Name) else []


def _given(node: ast.stmt, known: Mapping[str, str]) -> list[str]:
    """The names of the fixtures, or of the hook, that a statement of a file makes, perhaps by a call."""
    if isinstance(node, _FUNCTIONS):
        return [node.name] if node.name.startswith("pytest_") else list(filter(None, [_fixture(node, known)]))
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        if _maker(node.value) and (not node.value.args or _last(node.value.func) == "partial"):
            return []  # it makes one of what it decorates
        keys = [key.value for call in _calls_in(node.value) for key in call.keywords if key.arg == "name"]
        named = [str(key.value) if isinstance(key, ast.Constant) else ANY for key in keys]
        return [*(each.id for each in node.targets if isinstance(each, ast.Name)), *named]
    return []


def _used(node: ast.stmt, exports: dict[str, str], known: Mapping[str, str]) -> tuple[str, ...]:
    """What a fixture or a hook uses, as in `Outline.gives`; of a hook that only prepares, the fixtures."""
    found = {f"@{name}" for name in asked_for(node, known)}
    if isinstance(node, _FUNCTIONS):
        given = (*node.args.args, *node.args.kwonlyargs)
        found |= {f"@{each.arg}" for each in given} if fixture_of(node, known) else set()
        if node.name.startswith("pytest_") and not node.name.startswith(_RUNNING):
            return tuple(sorted(found))
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id in exports:
            found.add(exports[each.id])
        elif isinstance(each, ast.Attribute) and (dotted := _chain(each, exports)):
            found.add(dotted)
    return tuple(sorted(found))


def asked_for(tree: ast.AST, known: Mapping[str, str]) -> Iterator[str]:
    """The fixtures that calls and marks below a node name, beside parameters; `known` as in `fixture_of`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (called := _meant(node.func, known)) in (*_ASKING, *_LAZY):
            for each in (*node.args, *(key.value for key in node.keywords)):
                if isinstance(each, ast.Constant):
                    yield str(each.value)
                elif called in _ASKING:
                    yield ANY


def _assigned(node: ast.AST, name: str) -> ast.expr | None:
    """What a statement of a file gives to a name."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    known = any(isinstance(each, ast.Name) and each.id == name for each in targets)
    return getattr(node, "value", None) if known else None


def _plugins(value: ast.expr | None) -> set[str]:
    """The modules that a value names, as in `Outline.plugins`."""
    parts = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [] if value is None else [value]
    known = [each for each in parts if isinstance(each, ast.Constant)]
    if len(known) < len(parts):
        below = [each for part in parts for each in ast.walk(part)]
        made = [each.values[0] for each in below if isinstance(each, ast.JoinedStr) and each.values]
        begins = {f"{each.value}{ANY}" for each in made if isinstance(each, ast.Constant)}
        return (begins or {ANY}) | {str(each.value) for each in below if isinstance(each, ast.Constant)}
    return {str(each.value) for each in known}


def _meant(node: ast.expr, known: Mapping[str, str]) -> str:
    """The last word of what is called, also where the file has it under another name."""
    function = node.func if isinstance(node, ast.Call) else node
    last = _last(function)
    return (known.get(last) or last).rpartition(".")[2] if isinstance(function, ast.Name) else last


def _last(node: ast.expr) -> str:
    """`c` of `a.b.c` and of `a.b.c(...)`."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _compiles(node: ast.stmt, exports: dict[str, str]) -> TypeGuard[ast.FunctionDef]:
    """Whether a statement defines a function that calls the DSL's `compile`."""
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(each, ast.Attribute) and _chain(each, exports) == COMPILE for each in ast.walk(node)
    )


def _calls(
    node: ast.stmt, exports: dict[str, str], compiling: Collection[str], own: Mapping[str, ast.stmt]
) -> Iterator[str]:  # fmt: skip
    """The functions that a statement of a file calls for what they do, and the DSL's `compile` in it.

    A call of one of the file's own functions that are `compiling` counts as `compile` does. What an `own` one
    uses that is called for what it does, counts as called.
    """
    if isinstance(node, (*_DEFINITIONS, ast.Import, ast.ImportFrom)):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        if isinstance(called, ast.Name) and called.id in exports:
            yield exports[called.id]
            seen = [called.id]
            for each in (part for name in seen for part in ast.walk(own.get(name, called))):
                if isinstance(each, ast.Name):
                    yield from filter(None, [exports.get(each.id)])
                    seen += [each.id] if each.id in own and each.id not in seen else []
                elif isinstance(each, ast.Attribute):
                    yield from filter(None, [_chain(each, exports)])
        elif isinstance(called, ast.Attribute):
            yield from filter(None, [_chain(called, exports)])
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
            yield from {_chain(each.func, exports)} & {COMPILE}
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in compiling:
            yield COMPILE


def _by_function(call: ast.Call, exports: dict[str, str], tree: ast.Module) -> Iterator[str]:
    """The module that a call imports, by a name in its text; `ANY` for one that the text does not tell."""
    function = call.func
    named = function.id if isinstance(function, ast.Name) else ""
    full = _chain(function, exports) if isinstance(function, ast.Attribute) else exports.get(named, named)
    if full in _IMPORTERS and call.args:
        yield str(call.args[0].value) if isinstance(call.args[0], ast.Constant) else ANY
    elif full in _RUNNERS:
        given = [*call.args, *(key.value for key in call.keywords)]
        names = [each.id for each in given if isinstance(each, ast.Name)]
        given += filter(None, (_assigned(node, name) for node in ast.walk(tree) for name in names))
        yield from set(filter(None, map(_of_path, given))) or {ANY}


def _of_path(made: ast.expr) -> str:
    """`a.b.c` of what makes a path that ends with the texts "a", "b" and "c.py"; "" of another."""
    texts = [
        each for each in ast.walk(made) if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    texts.sort(key=lambda each: (each.lineno, each.col_offset))
    parts = [part for each in texts for part in re.split(r"[\\/]", str(each.value)) if part.strip(".")]
    return ".".join(parts).removesuffix(".py") if parts and parts[-1].endswith(".py") else ""


def _chain(node: ast.Attribute | ast.Name, imported: Mapping[str, str]) -> str:
    """`a.b.c` in full, where `a` was imported; else ""."""
    words = words_of(node)
    return ".".join([imported[words[0]], *words[1:]]) if words and words[0] in imported else ""


def kept_outline(path: str, cache: Cache) -> Outline:
    """The outline of a file, from the cache where it has it; an empty one of a file that cannot be read."""
    try:
        raw = read_regular(path)
    except OSError:
        return Outline()
    key = digest("outline", tool_version(), raw)
    made: Outline | None = cache.get(key, reader(Outline))
    if made is None:
        made = outline(raw)
        cache.put(key, asdict(made))
    return made
