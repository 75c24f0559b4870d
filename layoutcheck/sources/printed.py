"""The copies of a module that the compiler printed in MLIR's generic form with locations."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.sources.balanced import span_end
from layoutcheck.sources.diagnostics import copies_from_error
from layoutcheck.sources.traced import Frame, TracedCopy

NOWHERE = Frame("", 0)
MAX_SOURCE_BYTES = 1 << 24

_OPERATION = re.compile(r'"cute\.copy(?:_atom_call)?"\(')
_PLACE = re.compile(r'(?:"((?:[^"\\]|\\.)*)"\()?"((?:[^"\\]|\\.)+)":(\d+):(\d+)')
_FUNCTION = re.compile(r"[\w.<>]+\Z")
_OWN = re.compile(r"[\\/]nvidia_cutlass_dsl[\\/]|[\\/]layoutcheck[\\/]dsl[\\/]|^<|^-$")
_COPIES = re.compile(r"copy|\A(?:load|store|fill)\Z", re.IGNORECASE)


def read_module(text: str, kernel: str, arch: str) -> list[TracedCopy]:
    """The copies in the order of the text, repeats included."""
    found = []
    for line in text.splitlines():
        match = _OPERATION.search(line)
        if match is None:
            continue
        operation, location = _split(line, match)
        frames = where_of(location) or [NOWHERE]
        copy, problem = _copy(operation, arch)
        found.append(
            TracedCopy(
                copy, operation, frames[0], tuple(frames[1:]), kernel, arch,
                missing=problem, in_dsl=made_in_library(frames[0]),
            )
        )  # fmt: skip
    return found


def where_of(location: str) -> list[Frame]:
    """The frames outside the DSL that a printed location names, innermost first."""
    return [
        Frame(path, int(line), int(column) + 1, name if _FUNCTION.match(name) else "")
        for name, path, line, column in _PLACE.findall(location)
        if not _OWN.search(path)
    ]


def made_in_library(where: Frame) -> bool:
    """Whether the call that stands there, in the user's file, is one of no copy: library code makes it."""
    called = _calls(where.file).get((where.line, where.column - 1))
    return called is not None and not any(_COPIES.search(name) for name in called)


def _split(line: str, match: re.Match[str]) -> tuple[str, str]:
    """The operation with its types, and the text of its location."""
    types = line.find(" : (", match.end())
    try:
        end = span_end(line, line.index("(", types)) if types >= 0 else len(line)
    except InputError:
        return line.strip(), ""
    return line[match.start() : end] + " -> ()", line[end:]


def _copy(operation: str, arch: str) -> tuple[Copy | None, str]:
    """The copy, or why there is none."""
    try:
        found = copies_from_error(operation, arch)
    except InputError as error:
        return None, error.message
    return (found[0][0], "") if found else (None, "its types cannot be read")


@lru_cache(maxsize=256)
def _calls(path: str) -> dict[tuple[int, int], set[str]]:
    """The names called by the calls that begin at each (line, column from 0) of a source file."""
    try:
        source = Path(path)
        if source.stat().st_size > MAX_SOURCE_BYTES:
            return {}
        tree = ast.parse(source.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return {}
    found: dict[tuple[int, int], set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            name = (
                function.attr
                if isinstance(function, ast.Attribute)
                else function.id
                if isinstance(function, ast.Name)
                else ""
            )
            found.setdefault((node.lineno, node.col_offset), set()).add(name)
    return found
