"""The line of the installed DSL at which a call fails without a message of the DSL, and which parameters it is of.

Python says there only what it cannot do with which types: 'int' object is not subscriptable. The frames below the user's own line
lead from that line to the call: names are followed through assignments to parameters, and these to what the frame above gives.
"""

from __future__ import annotations

import ast
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
    own = max((at for at, one in enumerate(frames) if origin.is_own(one["file"])), default=len(frames))
    below = [
        _Frame(*quoted.line_of(one), int(one["line"]), *_files(one["file"])) for one in frames[own + 1 :]
    ]
    if not below or not all(one.file for one in below) or _NO_STEP.match(below[-1].code):
        return None  # what only passes on a call tells nothing of it
    last = below[-1]
    names, function = _names(quoted.alone(last.marked or last.code)), ""
    for at, frame in reversed(list(enumerate(below))):
        found = _around(frame)
        if found is None:
            break
        function, node = found
        names = _parameters(node, frame.line, names)
        names = _passed(below[at - 1].code, node, names) if at else names
    return Failing(last.marked or last.code, f"{last.file}:{last.line}", frozenset(names), function)


class _Frame(NamedTuple):
    code: str
    marked: str
    line: int
    file: str = ""


def _files(file: str) -> list[str]:
    """The path of a file of the DSL as every version has it; none of another's."""
    return origin.OF_DSL.findall(file)[:1]


def _around(frame: _Frame) -> tuple[str, ast.FunctionDef] | None:
    """(what a program calls, the function) around a frame's line in the installed DSL; None where that line differs.

    A constructor is called by its class's name, and what begins with "_" by none: "".
    """
    line = frame.line
    read = next((one for one in installed.files() if installed.short(one[0]) == frame.file), None)
    if read is None or frame.code not in "".join(read[1].split("\n")[line - 1 : line]):
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


def _passed(code: str, function: ast.FunctionDef, names: set[str]) -> set[str]:
    """The names that a line gives a function for these parameters."""
    read = quoted.alone(code)
    every = [one for one in ast.walk(read[0]) if isinstance(one, ast.Call)] if read else []
    call = next((one for one in every if quoted.last(one.func) == function.name), None)
    made = next(installed.signatures_in(ast.Module([function], []), function.name), None)
    given = quoted.fitted(call, made).given if call and made else {}
    return {
        one.id for name in names & set(given) for one in ast.walk(given[name]) if isinstance(one, ast.Name)
    }
