"""Where the installed CuTe DSL raises a pasted message, and on which condition.

The DSL's Python files hold some 1,500 `raise` and `assert` statements. They are read, never imported, and nothing of
them is kept: a message is looked for in the version that the user has. `libraries` looks into other sources.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from layoutcheck.catalogue.installed import callers, constant, files, parameter, parsed, short
from layoutcheck.catalogue.literals import loose, plain
from layoutcheck.catalogue.lookup import Lookup
from layoutcheck.catalogue.raising import EXPECTS, Statement, of_file, walk

_SAID = re.compile(r"(?:Error|Exception|\berror): (?:Error: )?(?=\S)")
_FRAME = re.compile(
    r'File "(?P<file>[^"]{1,400})", line (?P<line>[0-9]+)(?:, in [\w.<>]+)?|(?P<test>[\w~./+-]{1,400}\.py):(?P<row>[0-9]+): '
)
# The source below a frame, of which Python prints the first line alone.
_SHOWN = re.compile(
    r" ?(?P<source>(?:assert|raise)\b.{0,60}?)(?= \^|(?<=[(,]) ?[\w.]+(?:Error|Exception): |$)|(?: ?(?:assert|raise)\b.{60})"
)
_MOST_SHOWN = 6  # words of it that are compared: a text may be cut behind them
_KIND = re.compile(r"\b\w*(?:Error|Exception|Interrupt): (?:\w+Error: )?(?P<said>\S.{0,400})")
_BEHIND = re.compile(
    r" (?:File \"|Traceback \(|During handling|The above exception|-->)"
)  # what follows a message
_MOST_SAID = 8  # messages of one text that are looked for
_MOST_WORDS = 4  # in a row that are looked for
_MOST_FILES = 4  # that are parsed for one message: those with most of its words
_LONGEST = 600  # characters of a message
_FEWEST_LETTERS = 14  # of a statement's own words: "Not supported." would match anything
_FEWEST_NAMED = 5  # where the text names the file
_FEW_LETTERS = 20  # below which a message that begins with a value must also end where the statement does
_END = re.compile(r"[.!]? ?(?:$|-->|Traceback|File \"|suggestion:|note:|(?:at |in )?\S+\.py:[0-9])")
_HOLE = ".{0,400}?"
_QUOTE = re.compile("['\"`]")
_VALUE = re.compile(
    r".{0,80}?(?=\.? ?(?:$|-->|Traceback|File \"|suggestion:|note:|Error Code)|[.,;]? (?:at |in )?\S+\.py:[0-9])|.{0,80}"
)
_CLASS = re.compile(r"<class '(?:[\w.]*\.)?_?(\w+)'>")
_CONSTANT = re.compile(r"(?<![\w.])_?[A-Z][A-Z0-9]*_[A-Z0-9_]+\b(?!\.)")
_NAMED = re.compile(r"[A-Za-z_][\w.]*|(?:rank|len|size|depth|type)\([\w.]+\)")
_LONGEST_NAME, _LONGEST_VALUE = 40, 90  # characters
_MOST_DESCRIBED, _MOST_CALLERS = 2, 3
_OPERATORS = {"__getitem__": "{}[...]", "__setitem__": "{}[...] = value"}
_CONSTRUCTORS = ("__post_init__", "__new__", "_verify", "_make_trait", "_to_ir", "__call__")
_PYTHONS = re.compile(
    r"\S{1,200}\(\) (?:got an unexpected|got multiple|missing [0-9]|takes )|(?:integer |float )?(?:division|modulo)\b"
)  # which the DSL words alike
# parts of the DSL that know of layouts
_OWN_CODE = "/cute/", "/utils/", "/pipeline/", "/memory/", "/_mlir_helpers/", "/typing.py"


class Raised(NamedTuple):
    """A statement of the DSL that raises a message.

    `place` is "cute/core.py:17", the first of the `places` between which a text does not tell, `function` the function around it, `condition` the Python expression that is true
    where it raises ("" where there is none), `told` and `asked` that condition and its opposite as sentences ("" where there
    is no short one); `values` what the message prints of the call ("begin is 2"), `described` what the DSL's documentation
    says of the parameters in the condition; `called` the function as a program calls it; `kernel` whether the file is about layouts, copies and barriers.
    """

    said: str
    place: str
    function: str
    condition: str
    kernel: bool
    told: str = ""
    asked: str = ""
    values: tuple[str, ...] = ()
    described: tuple[str, ...] = ()
    called: str = ""
    places: int = 1


def find(folded: str) -> Raised | None:
    """The statement that raises the last message of the text for which there is one; None without a DSL.

    Of several with these words it is the one at which the last frame stands; it is that one too where no words tell one.
    """
    at, is_worded = _at_frame(folded)
    if is_worded:
        return at
    said = messages(folded)
    for message in said:
        found = [] if _PYTHONS.match(message) else _search(message)
        if found:
            return chosen(found, folded)
    return next((one for message in said for one in _in_named_files(message, folded)), at)


def _at_frame(folded: str) -> tuple[Raised | None, bool]:
    """The statement of the installed DSL at which the last frame of the text stands, if it has that one there; whether the message has its words."""
    shown = standing(folded)
    own = shown and next((one for one in files() if shown.file.endswith(_ends(one[0]))), None)
    found = at_line(*own, shown.line, "") if shown and own else None
    if not (shown and own and found and shown.is_(found)):
        return None, False
    said = _KIND.search(folded, shown.end)
    message = said["said"] if said else ""
    worded = (one for _, one in statements(*own, message, named=True) if one.place == found.place)
    if exact := next(worded, None):
        return exact, True
    told = _BEHIND.split(message)[0] or shown.source.removeprefix("raise ").partition("(")[0]
    return (None if told.startswith("assert") else found._replace(said=told)), False


def _ends(path: str) -> tuple[str, ...]:
    """How a frame's path of a file of the DSL may end, whatever folder it is installed in."""
    return tuple(f"/{folder}/{short(path)}" for folder in ("cutlass", "dsl_packages"))


class Shown(NamedTuple):
    """The last frame of a text, which shows the statement that raises: its file, its line, its `source`, and where that ends."""

    file: str
    line: int
    source: str
    end: int

    def is_(self, found: Raised) -> bool:
        """Whether a statement, as `at_line` has it, begins with the words that the text shows."""
        words = zip(re.findall(r"\w+", self.source), re.findall(r"\w+", found.said), strict=False)
        return all(a == b for a, b in list(words)[:_MOST_SHOWN])


def standing(folded: str) -> Shown | None:
    """The last frame of a text, if it shows that its statement raises."""
    last = next(reversed(list(_FRAME.finditer(folded))), None)
    shown = _SHOWN.match(folded, last.end()) if last else None
    if last is None or shown is None:
        return None
    file, line = (last["file"] or last["test"]).replace("\\", "/"), int(last["line"] or last["row"])
    return Shown(file, line, (shown["source"] or shown[0]).strip(), last.end())


def messages(folded: str) -> list[str]:
    """What the exceptions of the text say, the last one first."""
    starts = [match.end() for match in _SAID.finditer(folded)][-_MOST_SAID:]
    if len(folded) < _LONGEST:  # a message alone, without its exception's name
        starts.insert(0, 0)
    return [folded[at : at + _LONGEST] for at in reversed(starts)]


def in_lines(lines: list[str]) -> Raised | None:
    """The statement that raises the last of the lines for which there is one: of a log, whose lines name no exception."""
    told = (line[:_LONGEST] for line in reversed(lines) if not _SAID.search(line))
    return next((chosen(found, line) for line in told if (found := _with(line, _MOST_WORDS))), None)


def _in_named_files(message: str, folded: str) -> Iterator[Raised]:
    """The statements with a short message, which any program could raise, in the DSL's files that the text's frames name."""
    for path, text in files():
        if f"cutlass/{short(path)}" in folded:
            yield from (raised for _, raised in statements(path, text, message, named=True))


def chosen(found: list[Raised], folded: str) -> Raised:
    """The statement whose function the text names; where several fit alike, the first with the others' functions."""
    most = max(_named(one, folded) for one in found)
    fitting = [one for one in found if _named(one, folded) == most]
    functions = list(dict.fromkeys(one.called for one in fitting))
    others = f" (or {', '.join(functions[1:3])})" if len(functions) > 1 else ""
    alike = len({one.told for one in fitting}) == 1
    return fitting[0]._replace(
        places=len({one.place for one in fitting}),
        called=functions[0] + others,
        told=fitting[0].told if alike else "",
        condition=fitting[0].condition if alike else "",
    )


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
    return next((found for length in (_MOST_WORDS, 3, 2) if (found := _with(message, length))), [])


def _with(message: str, length: int) -> list[Raised]:
    """The statements that share that many words in a row with the message."""
    words = plain(message).split()[:40]
    length = min(length, len(words))
    runs = {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}
    speaking, lookup = _speaking()
    counts = Counter(chain.from_iterable(map(lookup.holding, runs)))
    best = sorted(((count, speaking[i]) for i, count in counts.items()), reverse=True)[:_MOST_FILES]
    fitting = [found for _, (path, text) in best for found in statements(path, text, message)]
    most = max((weight for weight, _ in fitting), default=0)
    return [raised for weight, raised in fitting if weight == most]


@lru_cache(maxsize=1)
def _speaking() -> tuple[tuple[tuple[str, str], ...], Lookup]:
    """(path, text) of the files that raise, and their lines with a quote: a fifth of the text has all the messages."""
    found = tuple((path, text) for path, text in files() if "raise " in text or "assert " in text)
    quoted = ("\n".join(line for line in text.split("\n") if '"' in line or "'" in line) for _, text in found)
    return found, Lookup(tuple(map(plain, quoted)))


def statements(
    path: str, text: str, message: str, *, named: bool = False, place: str = ""
) -> Iterator[tuple[int, Raised]]:
    """The statements of one file whose message fits, each with the number of its own letters that fit.

    Of a file that the text names, those with few letters of their own fit as well. `place` is the file's path as it is told
    to a reader, where it is not one of the DSL's.
    """
    said = plain(message)
    for statement in of_file(path, text):
        template = statement.template
        if not all(piece in said for piece in statement.pieces):
            continue
        weight = sum(letter.isalpha() for part in template if part for letter in part)
        if weight < (_FEWEST_NAMED if named else _FEWEST_LETTERS):
            continue
        pattern = "".join(f"({_HOLE})" if part is None else re.escape(part) for part in template)
        pattern = _QUOTE.sub(f"{_QUOTE.pattern}?", EXPECTS.sub(EXPECTS.pattern, pattern))
        match = re.match(loose(pattern), message, re.DOTALL)
        whole = weight >= _FEWEST_LETTERS and (weight >= _FEW_LETTERS or template[0] is not None)
        if match and (whole or template[-1] is None or _END.match(message, match.end())):
            behind = _VALUE.match(message, match.end()) if template[-1] is None else None
            last = behind[0] if behind else ""
            found = [*match.groups()[:-1], match[match.lastindex] + last] if match.lastindex else []
            raised = _raised(path, text, statement, (match[0] + last).strip(), place)
            yield weight, raised._replace(values=tuple(_values(statement.holes, found)))


def at_line(path: str, text: str, line: int, place: str) -> Raised | None:
    """The statement of a Python file that stands on this line and raises; None where it raises nothing."""
    for node, function, guard in walk(parsed(path, text)):
        if node.lineno <= line <= (node.end_lineno or line):
            return _raised(
                path, text, Statement([], [], [], function, guard, node.lineno), ast.unparse(node), place
            )
    return None


def _raised(path: str, text: str, statement: Statement, said: str, place: str) -> Raised:
    """A statement with what its file says of its condition, its function and its parameters."""
    told, asked = statement.guard.told(), statement.guard.asked()
    python = path.endswith(".py")
    return Raised(
        said,
        f"{place or short(path)}:{statement.line}",
        statement.function,
        str(statement.guard),
        not place and any(part in path for part in _OWN_CODE),
        _spelled(path, text, told) if python else told,
        _spelled(path, text, asked) if python else asked,
        (),
        tuple(_described(path, text, statement)) if python else (),
        _called(path, text, statement.function) if python else "",
    )


def _called(path: str, text: str, function: str) -> str:
    """The function as a program calls it: its class for a constructor, and who calls it for one that is the DSL's own."""
    owner, _, name = function.rpartition(".")
    owner = owner.rpartition(".")[2].lstrip("_")
    if name in _OPERATORS:
        return _OPERATORS[name].format(owner)
    if name in _CONSTRUCTORS and owner:
        return owner
    if not name.startswith("_") or name.startswith("__"):
        return function.lstrip("_")
    reached = callers(path, text, name)
    return " or ".join(reached) if 0 < len(reached) <= _MOST_CALLERS else function.lstrip("_")


def _spelled(path: str, text: str, said: str) -> str:
    """The sentence with the values of the file's constants in the place of their names: "1, 2, 4" for _VALID_NUM."""
    for name in _CONSTANT.findall(said):
        values = constant(path, text, name)
        if values:
            said = said.replace(name, values)
    return said


def _values(holes: list[str], found: list[str]) -> Iterator[str]:
    """What the message prints of the call: "begin is 2", "src is a tuple"; a computed sentence is left out."""
    for hole, value in dict(zip(holes, found, strict=False)).items():
        value = value.strip()
        kind = _CLASS.fullmatch(value)
        if len(hole) > _LONGEST_NAME or not 0 < len(value) <= _LONGEST_VALUE:
            continue
        if hole.startswith("type(") and kind:
            yield f"{hole[5:].partition(')')[0].removeprefix('self.')} is of type {kind[1]}"
        elif _NAMED.fullmatch(hole):
            yield f"{hole.removeprefix('self.')} is {value}"


def _described(path: str, text: str, statement: Statement) -> Iterator[str]:
    """What the documentation of the function says of the parameters that the condition asks about."""
    for name in statement.guard.names()[:_MOST_DESCRIBED]:
        said = parameter(path, text, statement.line, name)
        if said:
            yield f"{name}: {said}"
