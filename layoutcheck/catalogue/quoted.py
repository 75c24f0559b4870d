"""The user's call that a traceback quotes: which parameter of the DSL's function each of its arguments is.

A frame names a file and quotes one line of it. Where that file is here and has that line, the whole statement is read from it;
it is parsed, never imported.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from layoutcheck.catalogue import installed, origin
from layoutcheck.catalogue.installed import Signature

FRAME = re.compile(
    r'^\W*File "(?P<file>[^"\n]{1,400})", line (?P<line>[0-9]+)(?:, in (?P<function>[\w.<>]+))?\n(?P<code>(?:(?![^\w\n]*File ").*\n?){0,4})',
    re.MULTILINE,
)
_ARROW = re.compile(r"-->\W{0,6}(?P<file>/?[^\s:]{1,400}\.py):(?P<line>[0-9]+)(?::[0-9]+)?\W*\n")
_NUMBERED = re.compile(r"^\W{0,4}(?P<line>[0-9]+)\s*\| ?(?P<code>.*)$", re.MULTILINE)
_MARKS = re.compile(r"^[\s~^]*\^[\s~^]*$")
_REACH = 3000  # characters behind an arrow
_MOST_SOURCE = 1 << 21  # bytes of a file
_LONGEST = 60  # characters of an argument that is shown


Read = tuple[ast.Module, Callable[[ast.Call], bool]]  # a tree, and which of its calls are of the line


class Quoted(NamedTuple):
    """A call of the user's program: `place` "file:line", `node` its syntax; `cut` where its line is known and not its end."""

    place: str
    node: ast.Call
    cut: bool = False

    @property
    def name(self) -> str:
        """What is called, without what it is an attribute of."""
        return last(self.node.func)


class Bound(NamedTuple):
    """The arguments of a call by parameter, as they are written: `given`, what has no parameter, what has no argument."""

    signature: Signature
    given: dict[str, ast.expr]
    surplus: tuple[ast.expr, ...]
    unknown: tuple[str, ...]
    missing: tuple[str, ...]


def calls(text: str) -> list[Quoted]:
    """The calls of the user's innermost line that the text quotes, the outermost first; none where it quotes none."""
    lines = list(_lines(text))
    if not lines:
        return []
    file, number, line, marked = lines[-1]
    whole = _whole(file, number, line)
    read = whole or alone(line)
    if read is None:
        return []
    tree, within = read
    cut = whole is None and line.endswith(("(", ","))
    found = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and within(one)]
    pointed = [one for one in found if marked and ast.unparse(one).startswith(marked[:_LONGEST])]
    return [Quoted(f"{file}:{number}", one, cut) for one in pointed or found]


def last_line(text: str) -> str:
    """The user's innermost line that the text quotes, where no frame stands below it; else ""."""
    frames = list(FRAME.finditer(text))
    lines = [line for _, _, line, _ in _lines(text)]
    return lines[-1] if lines and (not frames or origin.is_own(frames[-1]["file"])) else ""


def underlined(text: str) -> str:
    """The part of the user's line that the DSL underlines below its arrow; "" where there is none."""
    for match in _ARROW.finditer(text):
        rows = text[match.end() : match.end() + _REACH].split("\n")
        for row, marks in itertools.pairwise(rows):
            if _NUMBERED.match(row) and row.split("|")[0].strip(" >") == match["line"] and "^" in marks:
                return row[marks.find("^") : marks.rfind("^") + 1]
    return ""


def subscript(text: str) -> tuple[str, ast.Subscript] | None:
    """(place, expression) of what the user's innermost line takes out of a tensor, where Python underlines that; else None."""
    place, marked = next(((f"{one[0]}:{one[1]}", one[3]) for one in [*_lines(text)][-1:]), ("", ""))
    read = alone(marked) if marked else None
    made = read[0].body[0] if read else None
    taken = made.value if isinstance(made, ast.Expr) else None
    return (place, taken) if isinstance(taken, ast.Subscript) else None


def line_of(match: re.Match[str]) -> tuple[str, str]:
    """(the line of a frame, the part of it that is underlined)."""
    code = match["code"].split("\n")
    marks = code[1] if len(code) > 1 and _MARKS.match(code[1]) else ""
    return code[0].strip(), code[0][len(marks) - len(marks.lstrip()) : len(marks.rstrip())]


def _lines(text: str) -> Iterator[tuple[str, int, str, str]]:
    """(file, line, its code, the part that is underlined) of the user's lines, in the order of the text."""
    for match in FRAME.finditer(text):
        line, marked = line_of(match)
        if origin.is_own(match["file"]) and line:
            yield match["file"], int(match["line"]), line, marked
    for match in _ARROW.finditer(text):
        rows = _NUMBERED.finditer(text, match.end(), match.end() + _REACH)
        code = next((row["code"].strip() for row in rows if row["line"] == match["line"]), "")
        if code and origin.is_own(match["file"]):
            yield match["file"], int(match["line"]), code, ""


def _whole(file: str, number: int, line: str) -> Read | None:
    """The tree of the file that has this line, and which of its nodes begin there; None where there is no such file here."""
    read = source(file)
    if read is None or number > len(read[0]) or read[0][number - 1].strip() != line:
        return None
    return read[1], lambda one: number in (one.lineno, one.func.end_lineno)


@lru_cache(maxsize=4)
def source(file: str) -> tuple[list[str], ast.Module] | None:
    """The lines and the tree of a Python file that is here."""
    try:
        path = Path(file)
        if path.suffix != ".py" or path.stat().st_size > _MOST_SOURCE:
            return None
        text = path.read_text(errors="replace")
        return text.split("\n"), ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return None


def alone(line: str) -> Read | None:
    """The tree of a line by itself; of the head of a block with an empty one."""
    for made in (line, f"{line} pass", f"{line.rstrip(',')})"):
        with contextlib.suppress(SyntaxError, ValueError):
            return ast.parse(made), lambda _one: True
    return None


def bind(call: Quoted, text: str = "") -> Bound | None:
    """The call's arguments by the parameters of the function that it names; None where it is not known which function that is.

    A function of the user's own file comes before one of the DSL; of several of a name the one that the arguments fit.
    """
    own = source(call.place.rpartition(":")[0])
    every = list(installed.signatures_in(own[1], call.name)) if own else []
    bound = [fitted(call.node, one) for one in every or installed.signatures(call.name)]
    if any(isinstance(one, ast.Starred) for one in call.node.args) or any(
        one.arg is None for one in call.node.keywords
    ):
        return None
    said = set(re.findall(r"'(\w+)'", text))
    bound.sort(
        key=lambda one: (
            -len(said & {*one.missing, *one.unknown}),
            -len(said & {*one.signature.names}),
            len(one.unknown) + len(one.surplus) + len(one.missing),
        )
    )
    return bound[0] if bound else None


def bind_printed(call: Quoted, function: str, signature: str) -> Bound | None:
    """The arguments of a call, or of cute.compile behind the function, by a signature that the text prints."""
    try:
        made = ast.parse(f"def {function}{signature}: pass")
    except SyntaxError:
        return None
    node = ast.Call(call.node.func, _given(call.node), call.node.keywords)
    return next((fitted(node, one) for one in installed.signatures_in(made, function)), None)


def fitted(node: ast.Call, signature: Signature) -> Bound:
    """The arguments of a call by the parameters of one signature."""
    positional = [one for one in signature.names if one not in signature.keyword_only]
    given = dict(zip(positional, node.args, strict=False))
    surplus = () if signature.open else tuple(node.args[len(positional) :])
    unknown = []
    for one in node.keywords:
        if one.arg in signature.names:
            given[str(one.arg)] = one.value
        elif not signature.any_keyword:
            unknown.append(str(one.arg))
    missing = tuple(one for one in signature.required if one not in given)
    return Bound(signature, given, surplus, tuple(unknown), missing)


def written(node: ast.expr) -> str:
    """An expression as code, shortened."""
    code = ast.unparse(node)
    return code if len(code) <= _LONGEST else f"{code[:_LONGEST]}..."


def last(node: ast.expr) -> str:
    """The name of a name, or of what is taken of an object."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def kind(node: ast.expr) -> str:
    """The Python type of an expression whose code shows it: "NoneType" of None, "tuple" of (1, 2); "" for any other."""
    if isinstance(node, ast.Constant):
        return type(node.value).__name__
    if isinstance(node, ast.UnaryOp):
        return kind(node.operand)
    return next((name for of, name in _KINDS if isinstance(node, of)), "")


_KINDS = ((ast.Tuple, "tuple"), (ast.List, "list"), (ast.Dict, "dict"), (ast.JoinedStr, "str"), (ast.Lambda, "function"))  # fmt: skip


_MAKES = re.compile(
    r"make_(?:copy_atom|ptr|tensor|rmem_tensor|fragment\w*|tiled_\w+|layout|ordered_layout|composed_layout|swizzle|smem_layout\w*|cotiled\w*)|from_dlpack|allocate\w*|get_tensor|make_\w*tma_atom\w*|\w+Op|MemRange"
)
_MOST_STEPS = 40


def made(place: str, node: ast.expr) -> list[tuple[int, ast.expr]]:
    """The lines that make what an expression of a place stands for, the nearest first, each with its code.

    Names are followed through assignments of the same function, parameters through its callers in the file, `self.x` through
    the file. None where the file is not here.
    """
    file, _, number = place.rpartition(":")
    read = source(file)
    if read is None:
        return []
    found: dict[int, ast.expr] = {}
    reached: list[tuple[ast.expr, int]] = [(node, int(number))]
    seen: set[tuple[str, int]] = set()
    for _ in range(_MOST_STEPS):
        if not reached:
            break
        here, line = reached.pop(0)
        if isinstance(here, ast.Call):
            if _MAKES.fullmatch(last(here.func)) and line != int(number):
                found.setdefault(line, here)
            inner = [*here.args, *(one.value for one in here.keywords)]
            inner += [here.func.value] if isinstance(here.func, ast.Attribute) else []
            reached += [(one, line) for one in inner]
        elif isinstance(here, ast.Tuple | ast.List):
            reached += [(one, line) for one in here.elts]
        elif isinstance(here, ast.Subscript | ast.Attribute) and ast.unparse(here)[:5] != "self.":
            reached.append((here.value, line))
        elif isinstance(here, ast.Name | ast.Attribute) and (ast.unparse(here), line) not in seen:
            seen.add((ast.unparse(here), line))
            for at, value in _values(read[1], here, line):
                if isinstance(value, ast.Tuple | ast.Constant | ast.BinOp):
                    found.setdefault(at, value)
                reached.append((value, at))
    return list(found.items())


def _values(tree: ast.Module, name: ast.expr, line: int) -> Iterator[tuple[int, ast.expr]]:
    """What a name was assigned last before a line, or what the callers give for a parameter."""
    wanted, nodes = ast.unparse(name), list(ast.walk(tree))
    functions = [one for one in nodes if isinstance(one, ast.FunctionDef)]
    around = [one for one in functions if one.lineno <= line <= (one.end_lineno or 0)]
    field = wanted.startswith("self.")
    scope = ast.walk(around[-1]) if around and not field else nodes
    assigned = [one for one in scope if isinstance(one, ast.Assign) and (one.lineno < line or field)]
    before = [(one.lineno, value) for one in assigned for value in _parts(one, wanted)]
    if before:
        yield max(before, key=lambda one: one[0])
        return
    for function in reversed(around):
        names = [one.arg for one in (*function.args.posonlyargs, *function.args.args) if one.arg != "self"]
        if wanted in names:
            for call in nodes:
                if isinstance(call, ast.Call) and function.name in (last(call.func), *_compiled(call)):
                    given = dict(zip(names, _given(call), strict=False))
                    given |= {str(one.arg): one.value for one in call.keywords}
                    yield from ((call.lineno, given[wanted]) for _ in range(wanted in given))
            return


def _compiled(call: ast.Call) -> tuple[str, ...]:
    """What cute.compile compiles: a function by its name, or an object by its __call__."""
    return (last(call.args[0]), "__call__") if last(call.func) == "compile" and call.args else ()


def _given(call: ast.Call) -> list[ast.expr]:
    return call.args[1:] if _compiled(call) else call.args


def _parts(node: ast.Assign, wanted: str) -> Iterator[ast.expr]:
    """The value that an assignment gives a name: of a tuple the part in its place."""
    for target in node.targets:
        names = [ast.unparse(one) for one in getattr(target, "elts", [target])]
        values = getattr(node.value, "elts", []) if isinstance(target, ast.Tuple) else []
        if wanted in names:
            yield values[names.index(wanted)] if len(values) == len(names) else node.value


def keywords(text: str, name: str) -> list[tuple[str, ast.Call]]:
    """The calls that give a keyword, in the user's files which the text names and which are here: (place, call)."""
    found = {}
    for file in dict.fromkeys(one[0] for one in _lines(text)):
        read = source(file)
        for one in ast.walk(read[1]) if read else ():
            if isinstance(one, ast.Call) and any(key.arg == name for key in one.keywords):
                found[f"{file}:{one.lineno}"] = one
    return list(found.items())
