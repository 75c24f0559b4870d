"""The line of the installed DSL at which a call fails without a message of the DSL, and which parameters it is of.

Python says there only what it cannot do with which types: 'int' object is not subscriptable. The names of that line are followed
through assignments to the parameters of its function, which the user's own line calls where no other frame stands between.
"""

from __future__ import annotations

import ast
import itertools
import re
from typing import NamedTuple

from layoutcheck.catalogue import installed, origin, quoted

_NO_STEP = re.compile(r"raise\b|.*\*args")


class Failing(NamedTuple):
    """`code` of the DSL's innermost line at `place`, of which `parameters` of the `function` that a program calls ("" if unknown)."""

    code: str
    place: str
    parameters: frozenset[str]
    function: str

    @property
    def told(self) -> str:
        """It as a sentence."""
        of = f", of {' and '.join(sorted(self.parameters))} of {self.function}" if self.parameters else ""
        return f"The DSL fails at `{self.code}`{of * bool(self.function)} ({self.place})."


def find(text: str) -> Failing | None:
    """The line that fails below the user's own; None where the innermost frame is none of the DSL's."""
    frames = list(quoted.FRAME.finditer(text))
    below = list(itertools.takewhile(lambda one: not origin.is_own(one["file"]), reversed(frames)))
    inside = [origin.OF_DSL.search(one["file"]) for one in below]
    if not inside or len(below) == len(frames) or not all(inside):
        return None
    file, line, (code, marked) = inside[0][1], int(below[0]["line"]), quoted.line_of(below[0])  # type: ignore[index]
    if _NO_STEP.match(code):
        return None  # what only passes on a call tells nothing of it
    names, function = _names(quoted.alone(marked or code)), ""
    if found := _around(file, line, code):
        names, function = _parameters(found[1], line, names), found[0] if len(below) == 1 else ""
    return Failing(marked or code, f"{file}:{line}", frozenset(names), function)


def _around(name: str, line: int, code: str) -> tuple[str, ast.FunctionDef] | None:
    """(what a program calls, the function) around this line of a file of the installed DSL; None where that line differs.

    A constructor is called by its class's name, and what begins with "_" by none: "".
    """
    read = next((one for one in installed.files() if installed.short(one[0]) == name), None)
    if read is None or code not in "".join(read[1].split("\n")[line - 1 : line]):
        return None
    kinds = ast.FunctionDef | ast.ClassDef
    inside = [
        one
        for one in ast.walk(installed.parsed(*read))
        if isinstance(one, kinds) and one.lineno <= line <= (one.end_lineno or line)
    ]
    function = max(inside, key=lambda one: one.lineno, default=None)
    if not isinstance(function, ast.FunctionDef):
        return None
    constructs = function.name == "__init__" and len(inside) > 1
    called = inside[-2].name if constructs else function.name
    return "" if called.startswith("_") else called, function


def _names(read: quoted.Read | None) -> set[str]:
    """The names in a line, or in a part of one."""
    return {one.id for one in ast.walk(read[0]) if isinstance(one, ast.Name)} if read else set()


def _parameters(function: ast.FunctionDef, line: int, names: set[str]) -> set[str]:
    """The parameters of a function that these names are made of, by the assignments before a line."""
    reached = set(names)
    assigned = [one for one in ast.walk(function) if isinstance(one, ast.Assign | ast.AnnAssign)]
    for node in sorted((one for one in assigned if one.lineno <= line), key=lambda one: -one.lineno):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value and any(isinstance(one, ast.Name) and one.id in reached for one in targets):
            reached |= {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
    of = function.args
    return reached & {one.arg for one in (*of.posonlyargs, *of.args, *of.kwonlyargs)} - {"self", "cls"}
