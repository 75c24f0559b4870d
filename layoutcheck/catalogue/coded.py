"""The DSL's coded errors: what a code's family means, and which code a message without one has.

The messages and suggestions are read from the installed DSL (since 4.8), and nothing of them is kept.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from layoutcheck.catalogue import installed
from layoutcheck.catalogue.literals import Words, plain

_STAGED = "The body of a run-time loop or branch is read once, while the program is compiled, and runs many times on the GPU. "
# By the first word of the code.
_FAMILIES = {
    "PHASE": _STAGED
    + "A value that Python must know while compiling and a value that only the run knows are mixed where one of the two is needed.",
    "TYPE": "A variable, argument or result has one DSL type at one place and another where both meet: the compiled program gives each one type.",
    "SCOPE": _STAGED
    + "A variable has to have a value on every path that reaches its use, and belongs to the function that reads it.",
    "BOUNDARY": _STAGED
    + "A plain Python function or method (without @cute.jit) reads or changes a variable that the run follows, and the compiler cannot see inside it.",
    "CONTAINER": _STAGED
    + "A list, dictionary, tuple or object that is carried through has to keep its keys, length and fields; only its values may change, and they are DSL numbers.",
    "UNSUP": "The statement has no form in the compiled program.",
    "CONFIG": "An option of the compile, the launch or the decorator has a value that the installed DSL does not take.",
    "AOT": "An exported function is called from C: its result has a declared type that C has.",
    "ARG": "An argument does not fit its annotation or the form in which compiled functions take it.",
    "CALL": "The call does not fit the function, or is made where no program is being compiled.",
    "LAUNCH": "grid, block and cluster are up to three integers each, given to .launch() inside a @cute.jit function.",
    "OWNER": _STAGED
    + "An object whose values the run follows changes its class, its undeclared fields or its lifetime.",
    "MEMREF": _STAGED
    + "A variable is pointed to memory that is allocated inside, and the old buffer is still used outside of one pass.",
    "SPEC": "A compiled function keeps what it saw of the program's state, and that state cannot be compared again at this call.",
    "STALE": "A compiled function keeps what it saw of the program's state when it was compiled, and that state has changed.",
    "TENSOR": "The host tensor has no device memory yet, has it already, or another library owns it.",
    "WRAPPER": _STAGED
    + "A variable leaves it as another Python class over the same compiled value than it came in.",
}
_FEWEST_LETTERS = 20
_FIELD_MOST = 300  # letters that the DSL puts in one place of a message: two classes with their modules
_FIELD = re.compile(r"\{(\w+)(?:[!:][^}]*)?\}")


class Coded(NamedTuple):
    """A message with its code, and what the DSL suggests."""

    code: str
    said: str
    fix: str


def cause(code: str) -> str:
    """Why errors of a code's family are raised; "" for a family that is not known."""
    return _FAMILIES.get(code.partition("_")[0], "")


def find(folded: str) -> Coded | None:
    """The code whose message stands in the text without it; None where there is none."""
    said = plain(folded)
    found = [
        (weight, Coded(code, match[0], _filled(code, match.groupdict())))
        for code, words, weight in _patterns()
        if (match := words.search(folded, said))
    ]
    return max(found)[1] if found else None


def _filled(code: str, values: dict[str, str]) -> str:
    """The DSL's suggestion with the values of the message in it."""
    fix = installed.suggestion(code)
    for name, value in values.items():
        fix = fix.replace(f"{{{name}}}", value)
    return installed.plain(fix)


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, Words, int], ...]:
    """(code, message as a pattern, its own letters) of every code with enough words of its own."""
    made = []
    for code, said in installed.coded().items():
        parts = _FIELD.split(" ".join(said.split()))  # text, name, text, name, text
        weight = sum(letter.isalpha() for part in parts[::2] for letter in part)
        if weight < _FEWEST_LETTERS:
            continue
        pattern, named = "", set()
        for at, part in enumerate(parts):
            known = at % 2 and part in named
            pattern += (
                re.escape(part)
                if not at % 2
                else f".{{0,{_FIELD_MOST}}}?"
                if known
                else f"(?P<{part}>.{{0,{_FIELD_MOST}}}?)"
            )
            named |= {part} if at % 2 else set()
        made.append((code, Words(pattern), weight))
    return tuple(made)
