"""The Python files of the installed CuTe DSL, read and never imported: what it defines, what it advises."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

DSL = "nvidia_cutlass_dsl"
_CATALOGUE = "base_dsl/diagnostics.py"  # the DSL's own errors by code, since 4.8
_MOST_MEMBERS = 40
_MOST_LISTED = 120  # characters of a constant's members
_IMPLICIT = frozenset(("loc", "ip"))  # places in the IR, which no user gives
_FIRST = re.compile(r".{0,160}?(?:[.;] |$)|.{0,160}(?= )|.{0,160}")
_PUBLIC = re.compile(r"/cutlass/(?:cute|pipeline|memory|utils)/")  # whose names a kernel's author uses
# marks, and what follows the prose
_PLAIN = re.compile(r"``?|\*\*|:(?:param|type|return|returns|rtype|ivar|class|func)\b.*|\.\. .*")
_SENTENCES = re.compile(r"(?:.{0,220}\. (?=[A-Z])|.{0,220}\.$|.{0,220}(?= )|.{0,220})")
_FEWEST_TOLD = 30  # characters of a sentence that says something
_FIELD = re.compile(r"`\{\w+\}`|\{\w+\}")


@lru_cache(maxsize=64)
def roots(package: str) -> tuple[Path, ...]:
    """The folders of an installed package, which is not imported; none where there is none."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return ()
    return tuple(map(Path, spec.submodule_search_locations or ())) if spec else ()


@lru_cache(maxsize=1)
def files() -> tuple[tuple[str, str], ...]:
    """(path, text) of the files, without the generated bindings; none where the DSL is not installed."""
    return tuple(
        (str(path), path.read_text(errors="replace"))
        for root in roots(DSL)
        for path in sorted(root.rglob("*.py"))
        if "_mlir" not in path.parts
    )


@lru_cache(maxsize=16)
def operand(operation: str, number: int) -> tuple[str, tuple[str, ...]]:
    """(the name of an operand of an operation, the names of all) in the DSL's generated bindings; "" where it has no such operation."""
    dialect = operation.partition(".")[0]
    for root in roots(DSL):
        for path in root.rglob(f"_{dialect}_ops_gen.py"):
            _, _, own = path.read_text(errors="replace").partition(f'OPERATION_NAME = "{operation}"')
            body = own.partition("def __init__")[2].partition("super().__init__")[0]
            names = tuple(re.findall(r"operands\.append\((?:\w+\()*(\w+)", body))
            if number < len(names):
                return names[number], names
    return "", ()


def short(path: str) -> str:
    """A file's path inside the package cutlass, "cute/core.py"; of what stands beside it inside the DSL, "iket/cli/base.py"."""
    inside = path.rpartition(f"/{DSL}/")[2].removeprefix("dsl_packages/")
    return inside.rpartition("cutlass/")[2]


@lru_cache(maxsize=1)
def _defining() -> dict[str, list[tuple[str, str]]]:
    """The files, as `files` has them, that define a function, class, method or property of each name."""
    definition = re.compile(r"^ *(?:def|class) (\w+)", re.MULTILINE)
    found: dict[str, list[tuple[str, str]]] = {}
    for path, text in files():
        for name in dict.fromkeys(definition.findall(text)):
            found.setdefault(name, []).append((path, text))
    return found


@lru_cache(maxsize=16)
def defined(name: str) -> tuple[str, ...]:
    """The functions and classes of this name, for example "ThrCopy.partition_S(src) in cute/atom.py"."""
    found: dict[str, None] = {}
    if name.startswith("_"):
        return ()
    for path, text in sorted(_defining().get(name, ()), key=lambda one: "/cute/" not in one[0]):
        if "_mlir_helpers" not in path:
            for owner, node in _definitions(parsed(path, text), name):
                found.setdefault(f"{owner}{name}{_parameters(node)} in {short(path)}")
    return tuple(found)


class Signature(NamedTuple):
    """The parameters of a function or class: all, those without a default, those that only a keyword gives.

    `open` says that it takes any number of arguments by position, `any_keyword` any keyword; `call` is it as a call writes it.
    """

    names: tuple[str, ...]
    required: tuple[str, ...]
    keyword_only: frozenset[str]
    open: bool
    any_keyword: bool
    call: str


@lru_cache(maxsize=16)
def signatures(name: str) -> tuple[Signature, ...]:
    """The parameters of each public function and class of this name in the DSL, those of cute first."""
    found = sorted(_defining().get(name, ()), key=lambda one: "/cute/" not in one[0])
    return tuple(
        one
        for path, text in found
        if "_mlir_helpers" not in path
        for one in signatures_in(parsed(path, text), name)
    )


def signatures_in(tree: ast.AST, name: str) -> Iterator[Signature]:
    """The parameters of each function and class of this name in a tree."""
    for owner, node in _definitions(tree, name):
        made = _signature(node)
        if made:
            yield made._replace(call=f"{owner}{name}{made.call}")


@lru_cache(maxsize=64)
def documented(name: str) -> str:
    """What the DSL's documentation says first of a public function or class, behind its call; "" where it says nothing."""
    for path, text in sorted(_defining().get(name, ()), key=lambda one: not _PUBLIC.search(one[0])):
        if not _PUBLIC.search(path):
            break
        for owner, node in _definitions(parsed(path, text), name):
            told = _PLAIN.sub("", " ".join((ast.get_docstring(node) or "").split())).strip()  # type: ignore[arg-type]
            said = _SENTENCES.match(told)[0].rstrip(". ;")  # type: ignore[index]
            if len(said) >= _FEWEST_TOLD and said[0].isalpha() and not said.startswith("Implemented by"):
                call = (
                    f"{owner}{name}"
                    if isinstance(node, ast.ClassDef)
                    else f"{owner}{name}{_parameters(node)}"
                )
                return f"{call}: {said}"
    return ""


def _definitions(tree: ast.AST, name: str, owner: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """The definitions of a name in modules and public classes; functions inside functions are nobody's to call."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            yield owner, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _definitions(node, name, f"{node.name}.")


def parameter(path: str, text: str, line: int, name: str) -> str:
    """The first sentence that the documentation of the function or class around a line has about a parameter."""
    around: list[ast.FunctionDef | ast.ClassDef] = []
    inside: list[ast.stmt] = parsed(path, text).body
    while inside:
        node = next((one for one in inside if one.lineno <= line <= (one.end_lineno or line)), None)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            around.append(node)
        inside = getattr(node, "body", [])
    for node in reversed(around):
        said = re.search(
            rf"^\s*(?::param (?:[\w.]+ )?{name}:|{name} ?(?:\([^)\n]*\))?:) *(?P<text>.+(?:\n(?!\s*(?::|\w+ ?(?:\([^)\n]*\))?:|$)).+)*)",
            ast.get_docstring(node) or "",
            re.MULTILINE,
        )
        if said:
            return _FIRST.match(" ".join(said["text"].replace("`", "").split()))[0].rstrip(". ")  # type: ignore[index]
    return ""


def callers(path: str, text: str, name: str) -> tuple[str, ...]:
    """The public functions of a file that reach a function of it by calls, each as "make_tensor" or "Tensor.store"."""
    calls = _calls(path, text)
    reached, named, found = [name], {name}, dict[str, None]()
    while reached:
        aim = reached.pop(0)
        for caller, called in calls:
            last = caller.rpartition(".")[2]
            if aim not in called or caller in found or last in named:
                continue
            if last.startswith("_"):
                named.add(last)
                reached.append(last)
            else:
                found[caller] = None
    return tuple(found)


@lru_cache(maxsize=32)
def _calls(path: str, text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """(function, names that it calls) of a file's functions and methods; a constructor has its class's name."""
    made = []
    for owner in ast.walk(parsed(path, text)):
        if not isinstance(owner, ast.ClassDef | ast.Module):
            continue
        prefix = f"{owner.name.lstrip('_')}." if isinstance(owner, ast.ClassDef) else ""
        for function in owner.body:
            if isinstance(function, ast.FunctionDef):
                called = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
                names = frozenset(getattr(one, "id", "") or getattr(one, "attr", "") for one in called)
                constructs = prefix and function.name in ("__init__", "__post_init__")
                made.append((prefix.rstrip(".") if constructs else prefix + function.name, names))
    return tuple(made)


def constant(path: str, text: str, name: str) -> str:
    """The members of a constant of a file, where it is written as a short list of them; "" for any other."""
    for node in parsed(path, text).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if not isinstance(target, ast.Name) or target.id != name:
            continue
        made = getattr(node, "value", None)
        if isinstance(made, ast.Call) and len(made.args) == 1:  # frozenset({...})
            made = made.args[0]
        values = made.keys if isinstance(made, ast.Dict) else getattr(made, "elts", [made])
        listed = [ast.unparse(one) for one in values if isinstance(one, ast.Constant | ast.Attribute)]
        return ", ".join(listed) if listed and len(", ".join(listed)) <= _MOST_LISTED else ""
    return ""


@lru_cache(maxsize=8)
def parsed(path: str, text: str) -> ast.Module:
    """A file's tree; `path` keeps the answers apart."""
    return ast.parse(text)


@lru_cache(maxsize=16)
def members(owner: str) -> tuple[str, ...]:
    """The public names in the classes of this name, with and without a leading "_"."""
    found: set[str] = set()
    for path, text in (*_defining().get(owner, ()), *_defining().get(f"_{owner}", ())):
        for node in ast.walk(parsed(path, text)):
            if isinstance(node, ast.ClassDef) and node.name.removeprefix("_") == owner:
                found |= set(_names(node))
    return tuple(sorted(name for name in found if not name.startswith("_")))[:_MOST_MEMBERS]


def _names(owner: ast.ClassDef) -> Iterator[str]:
    """The methods, fields and values that a class's body defines."""
    for node in owner.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


@lru_cache(maxsize=1)
def _all_names() -> tuple[str, ...]:
    """Every public name of a function or class."""
    return tuple(sorted(name for name in _defining() if len(name) > 1 and not name.startswith("_")))


def beginning(name: str) -> list[str]:
    """The installed DSL's names that have one letter more than this one."""
    return [one for one in _all_names() if one[:-1] == name]


def listed(name: str) -> tuple[str, ...]:
    """The modules of cutlass.cute that give a name which no `def` there defines: they list it and make it by a loop."""
    quoted = re.compile(rf"[\"']{re.escape(name)}[\"']")
    modules = ((re.search(r"/cutlass/(cute/\w+)(?:/__init__)?\.py$", path), text) for path, text in files())
    return tuple(
        f"cutlass.{found[1].replace('/', '.')}" for found, text in modules if found and quoted.search(text)
    )


def modules(name: str) -> tuple[str, ...]:
    """The modules of the installed DSL whose last name this is: "primitives" is cutlass.experimental.primitives."""
    ends = re.compile(rf"(?:.*/)?{re.escape(name)}(?:/__init__)?\.py")
    found = (short(path) for path, _ in files())
    plain = (one.removesuffix(".py").removesuffix("/__init__") for one in found if ends.fullmatch(one))
    return tuple(f"cutlass.{one.replace('/', '.')}" for one in plain)[:2]


def near(name: str) -> str | None:
    """The installed DSL's name that is written most like this one; None where none is alike."""
    alike = {one.replace("_", "").lower(): one for one in _all_names()}
    found = difflib.get_close_matches(name.replace("_", "").lower(), alike, n=1, cutoff=0.85)
    return alike[found[0]] if found and alike[found[0]] != name else None


@lru_cache(maxsize=16)
def imported(name: str) -> str:
    """The package, other than the DSL's own, whose function of this name the DSL calls: "tvm_ffi"; "" for none."""
    for _, text in files():
        if name not in text:
            continue
        modules = re.findall(rf"\b(\w+)\.{re.escape(name)}\b", text)
        names = "|".join(map(re.escape, dict.fromkeys((name, *modules))))
        taken = re.search(
            rf"^\s*from ((?!cutlass\b)[a-z]\w*)[\w.]* import (?:\([^)]*|[^(\n]*)\b(?:{names})\b",
            text,
            re.MULTILINE,
        )
        if taken:
            return taken[1]
    return ""


def gives(module: str, name: str) -> bool:
    """Whether a module can give the name: its folder has a file of it, or a line that defines, imports or lists it."""
    folder = "/".join(module.split(".")[1:])
    plain = re.compile(
        rf"^(?:(?:def|class) )?{re.escape(name)}\b|\bimport\b.*\b{re.escape(name)}\b|^ +{re.escape(name)},|[\"']{re.escape(name)}[\"']",
        re.MULTILINE,
    )
    inside = ((short(path), text) for path, text in files())
    return any(
        path.startswith((f"{folder}/{name}.py", f"{folder}/{name}/"))
        or (name in text and plain.search(text) is not None)
        for path, text in inside
        if path.startswith(folder)
    )


def knows(name: str) -> bool:
    """Whether the installed DSL defines a function, class, method or property of this name."""
    return name in _defining() or f"_{name}" in _defining()


def _parameters(node: ast.stmt) -> str:
    """A function's parameters by name, as a call writes them; a class's are its __init__'s, or its fields."""
    made = _signature(node)
    return made.call if made else ""


def _signature(node: ast.stmt) -> Signature | None:
    """The parameters of a function, or of a class; None for one without either."""
    if isinstance(node, ast.ClassDef):
        made = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        if made:
            return _signature(made[0])
        fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
        named = {one.target.id: one.value for one in fields if isinstance(one.target, ast.Name)}
        required = tuple(name for name, default in named.items() if default is None)
        call = f"({', '.join(named)})"
        return Signature(tuple(named), required, frozenset(), False, False, call) if named else None
    if not isinstance(node, ast.FunctionDef):
        return None
    of = node.args
    placed, only = [one.arg for one in (*of.posonlyargs, *of.args)], [one.arg for one in of.kwonlyargs]
    needed = placed[: len(placed) - len(of.defaults)]
    needed += [name for name, default in zip(only, of.kw_defaults, strict=True) if default is None]
    hidden = {"self", "cls", *_IMPLICIT.intersection(only)}
    names, required = ([one for one in every if one not in hidden] for every in ((*placed, *only), needed))
    star = ["*"] if only and not of.vararg else [f"*{of.vararg.arg}"] if of.vararg else []
    shown = [
        *(one for one in placed if one not in hidden),
        *star,
        *(one for one in only if one not in hidden),
    ]
    call = f"({', '.join(shown).removesuffix(', *')})"
    loose = of.vararg is not None, of.kwarg is not None
    return Signature(tuple(names), tuple(required), frozenset(only), *loose, call)


@lru_cache(maxsize=1)
def _coded() -> dict[str, tuple[str, str]]:
    """(message, first suggestion or "") of each of the DSL's coded errors."""
    made = {}
    for path, text in files():
        if not path.endswith(_CATALOGUE):
            continue
        for statement in ast.walk(ast.parse(text)):
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                try:
                    said, fixes = ast.literal_eval(statement.value)
                except (ValueError, TypeError, SyntaxError):
                    continue
                if isinstance(said, str) and isinstance(fixes, tuple):
                    made[statement.targets[0].id] = (said, str(fixes[0]) if fixes else "")
    return made


def coded() -> dict[str, str]:
    """The message of each of the DSL's coded errors, with "{name}" for its values."""
    return {code: said for code, (said, _) in _coded().items()}


def suggestion(code: str) -> str:
    """What the DSL suggests for an error of its own under this code, with "{name}" for values; "" where it is not known."""
    return _coded().get(code, ("", ""))[1]


def plain(said: str) -> str:
    """A suggestion without the fields for which there is no value."""
    return _FIELD.sub("it", said).rstrip(".")
