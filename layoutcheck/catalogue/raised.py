"""Where the installed CuTe DSL raises a pasted message, and on which condition.

The DSL's Python files hold some 1,500 `raise` and `assert` statements. They are read, never imported, and nothing of
them is kept: a message is looked for in the version that the user has.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from layoutcheck.catalogue.installed import files, short

_SPACE = re.compile(r"\s+")
_SAID = re.compile(r"(?:Error|Exception|\berror): (?:Error: )?(?=\S)")
_MOST_SAID = 8  # messages of one text that are looked for
_MOST_FILES = 4  # that are parsed for one message: those with most of its words
_LONGEST = 600  # characters of a message
_FEWEST_LETTERS = 14  # of a statement's own words: "Not supported." would match anything
_FEW_LETTERS = 20  # below which a message that begins with a value must also end where the statement does
_END = re.compile(r"[.!]? ?(?:$|-->|Traceback|File \"|suggestion:|note:|\S+\.py:[0-9])")
_HOLE = ".{0,400}?"
_EXPECTS = re.compile("[Ee]xpect(?:s|ed)")  # which one is worded so changes from version to version
_PYTHONS = re.compile(
    r"\S{1,200}\(\) (?:got an unexpected|got multiple|missing [0-9]|takes )"
)  # which the DSL words alike
_OWN_CODE = (
    "/cute/",
    "/utils/",
    "/pipeline/",
    "/memory/",
    "/_mlir_helpers/",
    "/typing.py",
)  # parts of the DSL that know of layouts


class Raised(NamedTuple):
    """A statement of the DSL that raises a message.

    `place` is "cute/core.py:17", `function` the function around it, `condition` the Python expression that is true
    where it raises ("" where there is none); `kernel` whether the file is about layouts, copies and barriers.
    """

    said: str
    place: str
    function: str
    condition: str
    kernel: bool


def find(folded: str) -> Raised | None:
    """The statement that raises the last message of the text for which there is one; None without a DSL."""
    starts = [match.end() for match in _SAID.finditer(folded)][-_MOST_SAID:]
    if len(folded) < _LONGEST:  # a message alone, without its exception's name
        starts.insert(0, 0)
    for at in reversed(starts):
        if _PYTHONS.match(folded, at):
            continue
        found = _search(folded[at : at + _LONGEST])
        if found:
            return _chosen(found, folded)
    return None


def _chosen(found: list[Raised], folded: str) -> Raised:
    """The statement whose function the text names; where several fit alike, the first with the others' functions."""
    most = max(_named(one, folded) for one in found)
    fitting = [one for one in found if _named(one, folded) == most]
    functions = list(dict.fromkeys(one.function for one in fitting))
    others = f" (or {', '.join(functions[1:3])})" if len(functions) > 1 else ""
    return fitting[0]._replace(function=functions[0] + others)


def _named(one: Raised, folded: str) -> int:
    """How many parts of the function's dotted name stand in the text."""
    return sum(
        bool(re.search(rf"\b{re.escape(part)}\b", folded))
        for part in one.function.split(".")
        if not part.startswith("__")
    )


@lru_cache(maxsize=64)
def _search(message: str) -> list[Raised]:
    """The statements with the most of their own words in the message.

    Values stand between the words: where four in a row are not a statement's own, three may be, or two.
    """
    return next((found for length in (4, 3, 2) if (found := _with(message, length))), [])


def _with(message: str, length: int) -> list[Raised]:
    """The statements that share that many words in a row with the message."""
    words = message.split()[:40]
    length = min(length, len(words))
    runs = {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}
    counts = Counter(path for run in runs for path in _holders(run))
    texts = {path: text for path, text, _ in _speaking()}
    best = sorted(((count, path) for path, count in counts.items()), reverse=True)[:_MOST_FILES]
    fitting = [found for _, path in best for found in _statements(path, texts[path], message)]
    most = max((weight for weight, _ in fitting), default=0)
    return [raised for weight, raised in fitting if weight == most]


@lru_cache(maxsize=1 << 14)
def _holders(run: tuple[str, ...]) -> tuple[str, ...]:
    """The files whose lines with a quote hold these words in a row.

    The first is then the end of a word of theirs, the last the beginning of one, and those between are whole.
    """
    known, listed = _words()
    if not all(word in known for word in run[1:-1]):
        return ()
    if len(run) > 1 and not (f"{run[0]}\n" in listed and f"\n{run[-1]}" in listed):
        return ()
    window = " ".join(run)
    return tuple(path for path, _, quoted in _speaking() if window in quoted)


@lru_cache(maxsize=1)
def _words() -> tuple[frozenset[str], str]:
    """The words of the lines with a quote, and the same one a line: a third of these lines."""
    known = frozenset(word for _, _, quoted in _speaking() for word in quoted.split())
    return known, "\n".join(("", *known, ""))


@lru_cache(maxsize=1)
def _speaking() -> tuple[tuple[str, str, str], ...]:
    """(path, text, its lines with a quote) of the files that raise: a fifth of the text has all the messages."""
    return tuple(
        (path, text, "\n".join(line for line in text.split("\n") if '"' in line or "'" in line))
        for path, text in files()
        if "raise " in text or "assert " in text
    )


def _statements(path: str, text: str, message: str) -> Iterator[tuple[int, Raised]]:
    """The statements of one file whose message fits, each with the number of its own letters that fit."""
    for template, pieces, function, condition, line in _messages(path, text):
        if not all(piece in message for piece in pieces):
            continue
        weight = sum(letter.isalpha() for part in template if part for letter in part)
        if weight < _FEWEST_LETTERS:
            continue
        pattern = "".join(_HOLE if part is None else re.escape(part) for part in template)
        pattern = _EXPECTS.sub(_EXPECTS.pattern, pattern)
        match = re.match(pattern, message, re.DOTALL)
        whole = weight >= _FEW_LETTERS or template[0] is not None
        if match and (whole or template[-1] is None or _END.match(message, match.end())):
            kernel = any(part in path for part in _OWN_CODE)
            said = match[0] + message[match.end() :].partition(" Traceback")[0][:80] * (template[-1] is None)
            yield weight, Raised(said.strip(), f"{short(path)}:{line}", function, str(condition), kernel)


@lru_cache(maxsize=256)
def _messages(path: str, text: str) -> tuple[tuple[list[str | None], list[str], str, _Condition, int], ...]:
    """(message, its fixed parts, function, condition, line) of each statement that raises words of its own."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ()
    bound = _bound(tree)
    read = (
        (made, _pieces(made), function, condition, node.lineno)
        for node, function, condition in _walk(tree)
        if not function.endswith("__getattr__") and (made := _template(node, bound))  # Python's own words
    )
    return tuple(read)


def _pieces(template: list[str | None]) -> list[str]:
    """What a text must hold to be this message."""
    return [piece for part in template if part for piece in _EXPECTS.split(part)]


class _Condition(NamedTuple):
    """A test of an `if` or an `assert`, and whether the statement is reached where it holds."""

    test: ast.expr | None = None
    holds: bool = True

    def __str__(self) -> str:
        if self.test is None:
            return ""
        return ast.unparse(self.test) if self.holds else f"not ({ast.unparse(self.test)})"


_ALWAYS = _Condition()


def _walk(
    node: ast.AST, function: str = "", condition: _Condition = _ALWAYS
) -> Iterator[tuple[ast.Raise | ast.Assert, str, _Condition]]:
    """Every raise and assert with the function and the condition around it."""
    if isinstance(node, ast.Raise):
        yield node, function, condition
    elif isinstance(node, ast.Assert):
        never = isinstance(node.test, ast.Constant)  # assert False
        yield node, function, condition if never else _Condition(node.test, holds=False)
    elif isinstance(node, ast.If):
        for branch, holds in ((node.body, True), (node.orelse, False)):
            for statement in branch:
                yield from _walk(statement, function, _Condition(node.test, holds))
    else:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            condition = _ALWAYS
            if node.name != "__init__":
                function = f"{function}.{node.name}" if function else node.name
        for inner in _inside(node):
            yield from _walk(inner, function, condition)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The statements of a statement, in order; an expression has none."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        part = getattr(node, name, ())
        if isinstance(part, list):
            yield from part


def _bound(node: ast.AST) -> dict[str, list[tuple[int, bool, ast.expr]]]:
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


def _template(
    node: ast.Raise | ast.Assert, bound: dict[str, list[tuple[int, bool, ast.expr]]] | None = None
) -> list[str | None] | None:
    """The message as its literal parts, with None for what is computed; None where it has no text of its own."""
    if isinstance(node, ast.Assert):
        given = node.msg
    else:
        given = node.exc.args[0] if isinstance(node.exc, ast.Call) and node.exc.args else None
    if isinstance(given, ast.Name):
        parts: list[str | None] = []
        for line, extends, value in sorted((bound or {}).get(given.id, ()), key=lambda one: one[0]):
            if line < node.lineno:
                parts = [*(parts if extends else ()), *(_literal(value) or [None])]
        return _trimmed(parts)
    return _trimmed(_literal(given))


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
