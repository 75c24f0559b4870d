"""The statements of a source file that raise: each message in parts, and the condition under which it is reached.

So do macros of C++ by which libraries refuse a call: `TORCH_CHECK(condition, "message", value)`, `FLASHINFER_CHECK(...)`,
`TVM_FFI_ICHECK(condition) << "message"`. The text is read, not preprocessed: what stands in a macro's definition is taken as it
is written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from layoutcheck.brackets import closing, split
from layoutcheck.catalogue.guards import Guard
from layoutcheck.catalogue.installed import parsed
from layoutcheck.catalogue.literals import plain
from layoutcheck.errors import InputError

_SPACE = re.compile(r"\s+")
EXPECTS = re.compile("[Ee]xpect(?:s|ed)")  # which one is worded so changes from version to version
_ALWAYS = Guard()


class Statement(NamedTuple):
    """One `raise` or `assert`: its message in parts (None for a value), and where it stands.

    `pieces` are what a text must hold to be it, `holes` what each value is.
    """

    template: list[str | None]
    pieces: list[str]
    holes: list[str]
    function: str
    guard: Guard
    line: int


@lru_cache(maxsize=256)
def of_file(path: str, text: str) -> tuple[Statement, ...]:
    """Each statement of a file that raises a message of its own words; of a C++ file each check with a message."""
    if not path.endswith(".py"):
        return tuple(
            Statement(
                one.template, _pieces(one.template), one.holes, "", Guard(written=one.condition), one.line
            )
            for one in read(text)
        )
    try:
        tree = parsed(path, text)
    except SyntaxError:
        return ()
    bound = bound_in(tree)
    return tuple(
        Statement(made, _pieces(made), _holes(node, bound), function, guard, node.lineno)
        for node, function, guard in walk(tree)
        if not function.endswith("__getattr__") and (made := template_of(node, bound))  # Python's own words
    )


def _pieces(template: list[str | None]) -> list[str]:
    """What a text, made `plain`, must hold to be this message."""
    return [plain(piece).strip() for part in template if part for piece in EXPECTS.split(part)]


def walk(
    node: ast.AST, function: str = "", guard: Guard = _ALWAYS
) -> Iterator[tuple[ast.Raise | ast.Assert, str, Guard]]:
    """Every raise and assert with the function and the condition around it."""
    if isinstance(node, ast.Raise):
        yield node, function, guard
    elif isinstance(node, ast.Assert):
        never = isinstance(node.test, ast.Constant)  # assert False
        yield node, function, guard if never else Guard(((node.test, False),))
    elif isinstance(node, ast.If):
        yield from _in_branches(node, function)
    elif isinstance(node, ast.Try):
        yield from _in_body(node.body, function, guard)
        tried = ast.unparse(node.body[-1]).replace("self.", "")
        for handler in node.handlers:
            yield from _in_body(handler.body, function, Guard(failed=tried.removeprefix("return ")))
        for part in (node.orelse, node.finalbody):
            yield from _in_body(part, function, guard)
    else:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            guard = Guard()
            if node.name != "__init__":
                function = f"{function}.{node.name}" if function else node.name
        yield from _in_body(list(_inside(node)), function, guard)


def _in_branches(
    node: ast.If, function: str, passed: tuple[tuple[ast.expr, bool], ...] = ()
) -> Iterator[tuple[ast.Raise | ast.Assert, str, Guard]]:
    """The statements of a chain of `if` and `elif`; its `else` is reached where none of them holds."""
    yield from _in_body(node.body, function, Guard(((node.test, True),)))
    passed = ((node.test, False), *passed)
    if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        yield from _in_branches(node.orelse[0], function, passed)
    else:
        yield from _in_body(node.orelse, function, Guard(passed))


def _in_body(
    body: list[ast.stmt] | list[ast.AST], function: str, guard: Guard
) -> Iterator[tuple[ast.Raise | ast.Assert, str, Guard]]:
    """The statements of one block. What stands behind `if x: return` is reached where x does not hold."""
    passed: tuple[tuple[ast.expr, bool], ...] = ()
    for statement in body:
        behind = Guard(passed) if passed and isinstance(statement, ast.Raise) and not guard.tests else guard
        yield from walk(statement, function, behind)
        if (
            isinstance(statement, ast.If)
            and isinstance(statement.body[-1], ast.Return)
            and not statement.orelse
        ):
            passed = ((statement.test, False), *passed)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The statements of a statement, in order; an expression has none."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        part = getattr(node, name, ())
        if isinstance(part, list):
            yield from part


def bound_in(node: ast.AST) -> dict[str, list[tuple[int, bool, ast.expr]]]:
    """What a file's names are assigned or extended by, with the line: `message = f"..."`, `message += "..."`."""
    made: dict[str, list[tuple[int, bool, ast.expr]]] = {}
    reached: list[ast.AST] = [node]
    while reached:
        node = reached.pop()
        reached += _inside(node)
        if isinstance(node, ast.Assign | ast.AugAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                made.setdefault(target.id, []).append(
                    (node.lineno, isinstance(node, ast.AugAssign), node.value)
                )
    return made


def template_of(
    node: ast.Raise | ast.Assert, bound: dict[str, list[tuple[int, bool, ast.expr]]] | None = None
) -> list[str | None] | None:
    """The message as its literal parts, with None for what is computed; None where it has no text of its own."""
    given = _given(node)
    if isinstance(given, ast.Name):
        parts: list[str | None] = []
        for line, extends, value in sorted((bound or {}).get(given.id, ()), key=lambda one: one[0]):
            if line < node.lineno:
                parts = [*(parts if extends else ()), *(_literal(value) or [None])]
        return _trimmed(parts)
    return _trimmed(_literal(given))


def _holes(node: ast.Raise | ast.Assert, bound: dict[str, list[tuple[int, bool, ast.expr]]]) -> list[str]:
    """What each computed part of the message is, in Python."""
    given = _given(node)
    values = [given]
    if isinstance(given, ast.Name):
        made = sorted(bound.get(given.id, ()), key=lambda one: one[0])
        values = [value for line, _, value in made if line < node.lineno]
    return [
        ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else ""
        for value in values
        for part in (value.values if isinstance(value, ast.JoinedStr) else [])
        if not isinstance(part, ast.Constant)
    ]


def _given(node: ast.Raise | ast.Assert) -> ast.expr | None:
    """The expression of the message."""
    if isinstance(node, ast.Assert):
        return node.msg
    return node.exc.args[0] if isinstance(node.exc, ast.Call) and node.exc.args else None


def _literal(given: ast.expr | None) -> list[str | None] | None:
    """The parts of a string or an f-string; None for any other expression."""
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return [_SPACE.sub(" ", given.value)]
    if isinstance(given, ast.JoinedStr):
        return [
            _SPACE.sub(" ", part.value)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
            else None
            for part in given.values
        ]
    return None


def _trimmed(parts: list[str | None] | None) -> list[str | None] | None:
    """The parts of a whole message, without what a text may leave out at its ends."""
    if not parts:
        return None
    first, last = parts[0], parts[-1]
    if first is not None:
        parts[0] = first.lstrip().removeprefix("Error: ")
    if last is not None:
        parts[-1] = (parts[-1] or "").rstrip().removesuffix(".")
    return parts


_CHECK = re.compile(
    r"(?<!define )\b(?P<macro>(?:[A-Z][A-Z0-9_]*)?(?:CHECK|ASSERT|ENFORCE)[A-Z0-9_]*|static_assert|throw std::\w+)\s*(?=\()"
)
# `<` and `>` compare here: they are no brackets.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[()\[\]{},"]', re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_COMPARED = {"_EQ": "==", "_NE": "!=", "_LT": "<", "_LE": "<=", "_GT": ">", "_GE": ">="}
_FORMAT = re.compile(r"%[-+ #0-9.l]*[a-zA-Z]|\{[^{}]*\}")
_ESCAPED = re.compile(r"\\(.)")

_LONGEST = 2000  # characters of one check


class Check(NamedTuple):
    """One check: its message as literal parts with None for values, what the values are, its condition and its line."""

    template: list[str | None]
    holes: list[str]
    condition: str
    line: int


def read(text: str) -> list[Check]:
    """The checks of a file that have a message of their own."""
    found = []
    for match in _CHECK.finditer(text):
        start = match.end()
        try:
            end = closing(text, start, min(len(text), start + _LONGEST), _TOKEN)
            arguments = split(text[start + 1 : end - 1], _TOKEN)
        except InputError:
            continue
        streamed = _streamed(text, end)
        condition, said = _parts(match["macro"], arguments, streamed)
        template, holes = _template(said)
        if template:
            found.append(
                Check(template, holes, _SPACE.sub(" ", condition), text.count("\n", 0, match.start()) + 1)
            )
    return found


def _parts(macro: str, arguments: list[str], streamed: list[str]) -> tuple[str, list[str]]:
    """(the condition, what is put together to the message)."""
    if macro.startswith("throw"):
        return "", arguments
    operator = next((sign for end, sign in _COMPARED.items() if macro.endswith(end)), "")
    if operator and len(arguments) >= 2:
        return f"{arguments[0]} {operator} {arguments[1]}", [*arguments[2:], *streamed]
    if arguments and _STRING.search(arguments[0]) and "&&" in arguments[0]:  # assert(x && "message")
        condition, _, said = arguments[0].rpartition("&&")
        return condition.strip(), [said.strip(), *streamed]
    return (arguments[0] if arguments else ""), [*arguments[1:], *streamed]


def _streamed(text: str, end: int) -> list[str]:
    """What is streamed behind a check: `<< "message" << value`."""
    stop = text.find(";", end, end + _LONGEST)
    rest = text[end : stop if stop >= 0 else end]
    return [part.strip() for part in rest.split("<<")[1:]] if rest.lstrip().startswith("<<") else []


def _template(said: list[str]) -> tuple[list[str | None], list[str]]:
    """The message in parts, and what each value is; a format's fields are values."""
    parts: list[str | None] = []
    holes = []
    for one in said:
        strings = [
            _ESCAPED.sub(lambda one: " " if one[1] in "nt" else one[1], string)
            for string in _STRING.findall(one)
        ]
        if not strings or _STRING.sub("", one).strip(" \n\t+()").replace("std::string", ""):
            parts.append(None)
            holes.append(_SPACE.sub(" ", one) if not strings else "")
            continue
        literals = _FORMAT.split(_SPACE.sub(" ", "".join(strings)))
        for at, literal in enumerate(literals):
            if at:
                parts.append(None)
                holes.append("")
            parts.append(literal)
    return _joined(parts), holes


def _joined(parts: list[str | None]) -> list[str | None]:
    """The parts with neighbouring words as one; nothing where there are no words."""
    joined: list[str | None] = []
    for part in parts:
        if part and joined and joined[-1] is not None:
            joined[-1] += part
        elif part != "":
            joined.append(part)
    if not any(joined):
        return []
    if joined[0] is not None:
        joined[0] = joined[0].lstrip()
    if joined[-1] is not None:
        joined[-1] = joined[-1].rstrip().removesuffix(".")
    return joined
