"""Copies from pasted compiler output, of any DSL version from 4.0 on.

Two forms exist. In older versions, and with `CUTE_DSL_SHOW_STACKTRACE=1` or `CUTE_DSL_DEBUG=1` in any, the
verifier's message and the operation with all its types:

    error: "cute.copy(...)"("kernel.py":29:8): 'cute.copy' op dst ptr alignment (16 bits) does not meet ...
     note: ... see current operation: "cute.copy"(%52, %80, %98) <{...}> : (ATOM, SRC, DST) -> ()

By default 4.8 prints the message alone, wrapped, which names the atom at most. Printed IR is read as well:
every `cute.copy` in it is one diagnostic without a message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.brackets import split, type_end
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiled import TiledCopy
from layoutcheck.errors import InputError
from layoutcheck.places import in_library
from layoutcheck.sources import several
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.other_errors import place, python_errors
from layoutcheck.sources.pasted import readings, shown
from layoutcheck.sources.types import parse_memref, parse_tiled_copy
from layoutcheck.sources.unanswered import answered_elsewhere, unknown
from layoutcheck.versions import printed_by

if TYPE_CHECKING:
    from layoutcheck.catalogue import Answer

MAX_DIAGNOSTICS = 1000
_LOG = 1 << 15  # characters

_MESSAGE = re.compile(
    r"['`]cute\.copy(?:_atom_call)?['`]\s*op\s*|(?<![\w.\"])cute\.copy(?:_atom_call)? op\s+"
)
_OPERATION = re.compile(r'"?cute\.copy(_atom_call)?"?\s*(\()\s*(?:%|\.\.\.)')
_ATTRIBUTES = re.compile(r"\s*(?:<\s*\{|\{)")
_COLON = re.compile(r"\s*:\s*(?=\()")
_TENSORS = re.compile(r"\((?=\s*!cute\.memref<)")
_ALIAS = re.compile(r"^\s*(![A-Za-z_]\w*)\s*=\s*(?=!cute)", re.MULTILINE)
_LOCATION = re.compile(r'\(\s*"([^"\n]{1,500})"\s*:\s*([0-9]{1,9})\s*:\s*[0-9]{1,9}\s*\)\s*:?\s*$')
_ARROW = re.compile(r"-->\s+([^\s:]{1,500}):([0-9]{1,9})(?::[0-9]+)?")
_CALL_STACK = re.compile(r"DSL Call Stack:?\s*-->\s+(\S{1,500})\s*\n\s*([0-9]{1,9})\s*\|")
_END = re.compile(
    r"\n\s*\n|\s*\b(?:note|suggestion):|see current operation|\n\s*-->|\n\s*[=_-]{5,}|\n\s*```"
    r"|\n\s*[0-9]*\s*\|"
    r"|\n\s*(?:File\s|Traceback|During handling|error\b|FAILED\b|ERROR\b|[\w.]*(?:Error|Exception)\b)"
)
_NAMED_ATOM = re.compile(r"\batom\s+['`]?(?:!cute_nvgpu\.atom\.)?(\w+<(?:[^<>]|<[^<>]*>){1,400}>)")
_NAMED_LAST = re.compile(
    r".*?(?:meet requirement \([0-9]+ bits\) of atom '[^']{1,400}'|predShape: [0-9(),?]+)"
)  # prose may follow
# a message's words
_BEFORE = re.compile(r"^(?:.*?\berror:)?\s*(?:unknown:)?\s*(?:\W?cute\.\w+\W?\s+(?:op\s+)?)?")
_FEW_LINES, _LONGEST = 6, 1000  # of a message without its operation; characters
_PACKAGE = re.compile(r"nvidia-cutlass-dsl\W{1,4}(4\.[0-9]+(?:\.[0-9]+)?)")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One compiler error, or one copy found in printed IR.

    `message` is the verifier's text on one line ("" in printed IR); `copy` the copy it is about, None where
    the paste does not hold its types (`problem` says why, where it holds some of them); `atom` the atom the
    message names; `location` "file:line" in the user's source; `dsl` the DSL versions that print so; `python`
    an exception of the DSL's Python layer, which never has the types; `printed` what a tensor that the text
    prints lacks for the message to be true of it; `given` what the user's line gives the copy, and what
    makes it.
    """

    message: str
    copy: Copy | None = None
    atom: Atom | None = None
    location: str | None = None
    dsl: str | None = None
    problem: str | None = None
    python: bool = False
    printed: str = ""
    given: tuple[str, ...] = ()


def read_diagnostics(text: str, arch: str = "sm_90a") -> list[Diagnostic]:
    """Every copy error in pasted output, in order, each once.

    Raises InputError where the text holds no error about a copy at all; it says what it holds instead.
    """
    if not text.strip():
        raise InputError("nothing to read", expected="the compiler's output, from 'error:' on")
    best: list[Diagnostic] = []
    raised: list[Diagnostic] = []
    for reading in readings(text):
        found = _unique(_scan(reading, arch))
        if found and (not best or _score(found) > _score(best)):
            best = found
        raised = raised or [
            Diagnostic(message, location=where, dsl=_dsl(reading, message), python=True)
            for message, where in python_errors(reading)
        ]
    best = best or _unique(raised)
    usable = [found for found in best if found.message or found.copy is not None]
    if usable:
        return usable
    if best:
        raise InputError(f"a cute.copy whose types cannot be read: {best[0].problem}")
    raise InputError("no cute.copy error in this text", expected="the compiler's output, from 'error:' on")


def read_errors(text: str, arch: str = "sm_90a", sources: Sequence[Path] = ()) -> list[Diagnostic | Answer]:
    """Every copy error in pasted output; where it holds none, what the catalogue knows of its errors.

    `sources` are folders of a library's files in which its messages are looked for.

    Raises InputError where nothing is recognised, and where another tool answers the error: it says which.
    """
    from layoutcheck.catalogue.entry import ELSEWHERE

    text = shown(text)
    found = several.read(text, _read(text, arch, sources), lambda part: _read(part, arch, sources))
    if not found:
        raise unknown(text)
    first = found[0]
    if not isinstance(first, Diagnostic) and first.entry.level == ELSEWHERE:
        raise InputError(answered_elsewhere(first))
    return found


def _read(text: str, arch: str, sources: Sequence[Path]) -> list[Diagnostic | Answer]:
    """Every copy error of a text; where it holds none, what the catalogue knows of it. Raises InputError."""
    try:
        return list(read_diagnostics(text, arch))
    except InputError as error:
        if not text.strip() or "whose types cannot be read" in error.message:
            raise
    from layoutcheck.catalogue import in_sources

    found = _catalogued(text)
    if not _specific(found) and (alone := _alone(text)):
        return [alone]
    return list(in_sources(found, text, sources))


def _alone(text: str) -> Diagnostic | None:
    """A verifier's message that stands without the operation's name, in a line or in a text of a few."""
    from layoutcheck.sources.messages import is_message

    if not is_message(text):  # of a log of 100,000 lines in a tenth of the time that they take one by one
        return None
    lines = text.splitlines()
    whole = [" ".join(text.split())] if len(lines) <= _FEW_LINES else []
    line = next(
        (line.strip() for line in (*lines, *whole) if len(line) < _LONGEST and is_message(line)), None
    )
    if line is None:
        return None
    message = _BEFORE.sub("", line)
    return Diagnostic(
        message, atom=_named_atom(message), location=_location(text, max(0, text.find(line)), len(text))
    )


def _catalogued(text: str) -> list[Answer]:
    """The answers of the first reading in which more than a general entry answers; else of the first."""
    from layoutcheck.catalogue import answers, folding  # a fifth of a second, which traces do not need

    best: list[Answer] = []
    read = set[str]()
    for reading in readings(folding.alone(text)):
        if reading in read:  # of a text without lines that a terminal wrapped
            continue
        read.add(reading)
        found = answers(reading)
        if not best or (_specific(found) and not _specific(best)):
            best = found  # of readings that both tell something the first is the most faithful
        if len(text) > _LOG and _specific(best):
            break  # a log has lines of its own, which no terminal wrapped
    return best


def _specific(found: list[Answer]) -> int:
    return sum(not one.entry.general for one in found)


def copies_from_error(text: str, arch: str = "sm_90a") -> list[tuple[Copy, str | None, str]]:
    """(copy, location, message) of every error whose operand types are in the text."""
    return [
        (found.copy, found.location, found.message)
        for found in read_diagnostics(text, arch)
        if found.copy is not None
    ]


def _score(found: list[Diagnostic]) -> tuple[int, int, int, int]:
    """How well a reading went: copies with types, messages understood, locations, and few broken types."""
    return (
        sum(diagnostic.copy is not None for diagnostic in found),
        sum(_is_understood(diagnostic.message) for diagnostic in found),
        sum(diagnostic.atom is not None for diagnostic in found),
        len(found) - sum(diagnostic.problem is not None for diagnostic in found),
    )


def _is_understood(message: str) -> bool:
    if not message:  # of printed IR, of which traces read much: they are spared the catalogue
        return False
    from layoutcheck.sources.messages import explain

    return explain(message) is not None


def _unique(found: list[Diagnostic]) -> list[Diagnostic]:
    """Each error once: a traceback repeats it, and 4.8 repeats its message without the types."""
    typed = {_squeezed(d.message) for d in found if d.copy is not None}
    kept: dict[object, Diagnostic] = {}
    for diagnostic in found:
        message = _squeezed(diagnostic.message)
        if diagnostic.copy is None and message in typed:
            continue
        key = (message, diagnostic.copy)
        earlier = kept.setdefault(key, diagnostic)
        if earlier.location is None and diagnostic.location is not None:
            kept[key] = replace(earlier, location=diagnostic.location)
    return list(kept.values())


def _squeezed(message: str) -> str:
    return "".join(message.split())


def _scan(text: str, arch: str) -> list[Diagnostic]:
    aliases = _aliases(text)
    messages = list(_MESSAGE.finditer(text))[:MAX_DIAGNOSTICS]
    operations = list(_OPERATION.finditer(text))[:MAX_DIAGNOSTICS]
    found: dict[int, Diagnostic] = {}
    taken: set[int] = set()
    for index, match in enumerate(messages):
        stop = messages[index + 1].start() if index + 1 < len(messages) else len(text)
        message = _message(text, match.end(), stop)
        where = _location(text, match.start(), stop)
        diagnostic = Diagnostic(message, None, _named_atom(message), where, _dsl(text, message))
        operation = next((o for o in operations if match.end() <= o.start() < stop), None)
        if operation is not None:
            taken.add(operation.start())
            diagnostic = _with_copy(diagnostic, text, operation, aliases, arch)
        elif diagnostic.atom is not None:
            diagnostic = replace(diagnostic, copy=_shortened(text, match.end(), stop, diagnostic.atom, arch))
        found[match.start()] = diagnostic
    for operation in operations:
        if operation.start() not in taken:
            found[operation.start()] = _with_copy(Diagnostic(""), text, operation, aliases, arch)
    return [found[at] for at in sorted(found)]


def _with_copy(
    diagnostic: Diagnostic, text: str, operation: re.Match[str], aliases: dict[str, str], arch: str
) -> Diagnostic:
    try:
        return replace(diagnostic, copy=_copy(text, operation, aliases, arch))
    except InputError as error:
        return replace(diagnostic, problem=error.message)


def _copy(text: str, operation: re.Match[str], aliases: dict[str, str], arch: str) -> Copy:
    """The copy of the operation whose name is matched, from the types after its colon."""
    following = _OPERATION.search(text, operation.end())
    limit = following.start() if following else len(text)
    at = type_end(text, operation.start(2), limit)
    attributes = _ATTRIBUTES.match(text, at)
    if attributes:
        at = type_end(text, attributes.end() - len(attributes[0].lstrip()), limit)
    colon = _COLON.match(text, at)
    if colon is None:
        raise InputError("the operation's types are missing")
    end = type_end(text, colon.end(), limit)
    types = split(text[colon.end() + 1 : end - 1])
    types = [one for name in types for one in _listed(name)]
    types = [aliases.get(name, name) for name in types]
    if len(types) not in (3, 4, 5):
        raise InputError(f"a copy has 3 to 5 operands, not {len(types)}")
    atom: Atom | None = None
    tiled: TiledCopy | None = None
    if types[0].startswith("!cute.tiled_copy"):
        tiled = parse_tiled_copy(types[0])
        atom = tiled.atom
    else:
        atom = parse_atom(types[0])
    op = "copy_atom_call" if operation[1] else "copy"
    if isinstance(atom, TmaCopy) and (atom.indexed or atom.override) and len(types) == 4:
        return _of_rows(atom, [parse_memref(text) for text in types[1:]], op, arch)
    src, dst, *others = map(parse_memref, types[1:])
    aux = others.pop(0) if atom.destinations == 2 and others else None
    if len(others) > 1:
        raise InputError(f"a copy with {atom.destinations} destination has 3 or 4 operands, not {len(types)}")
    return Copy(atom, src, dst, others[0] if others else None, tiled, op=op, arch=arch, aux=aux)


def _shortened(text: str, start: int, stop: int, atom: Atom, arch: str) -> Copy | None:
    """The copy of a report that keeps the message and "(SRC, DST)" and drops the rest of the operation."""
    types = _TENSORS.search(text, start, stop)
    if types is None:
        return None
    try:
        end = type_end(text, types.start(), stop)
        tensors = list(map(parse_memref, split(text[types.start() + 1 : end - 1])))
    except InputError:
        return None
    if len(tensors) not in (2, 3):
        return None
    return Copy(atom, tensors[0], tensors[1], tensors[2] if tensors[2:] else None, arch=arch)


def _of_rows(atom: TmaCopy, operands: list[Memref], op: str, arch: str) -> Copy:
    """A gather4, of (coordinates, indices, shared), or a scatter4, of (shared, coordinates, indices).

    Of an override coordinates stand behind the global tensor in the place of indices.
    """
    if atom.kind == "load":
        there, index, here = operands
        return Copy(atom, there, here, op=op, arch=arch, index=index)
    here, there, index = operands
    return Copy(atom, here, there, op=op, arch=arch, index=index)


def _listed(text: str) -> list[str]:
    """The types of a bracketed list, or the one type."""
    if not (text.startswith("[") and text.endswith("]")):
        return [text]
    return split(text[1:-1])


def _aliases(text: str) -> dict[str, str]:
    """`!name = !cute....<...>` lines, as MLIR prints long types."""
    found: dict[str, str] = {}
    for match in _ALIAS.finditer(text):
        opening = text.find("<", match.end(), match.end() + 200)
        if opening >= 0 and len(found) < MAX_DIAGNOSTICS:
            try:
                found[match[1]] = text[match.end() : type_end(text, opening)]
            except InputError:
                continue
    return found


def _message(text: str, start: int, stop: int) -> str:
    """The message that begins at `start`, on one line."""
    end = _END.search(text, start, min(stop, start + 1000))
    message = " ".join(text[start : end.start() if end else min(stop, start + 1000)].split())
    named = _NAMED_LAST.match(message)
    return named[0] if named else message


def _location(text: str, at: int, stop: int) -> str | None:
    """The user's "file:line" of the message at `at`: what it names itself, or the traceback above it."""
    lead = text[max(0, at - 1500) : at]
    found = _LOCATION.search(lead)
    if found is None:
        arrows = list(_ARROW.finditer(lead))
        found = arrows[-1] if arrows else None
    if found is None:
        found = _CALL_STACK.search(text, at, min(stop, at + 5000))
    if found is None or in_library(found[1]):
        return place(text, at)
    return f"{found[1]}:{found[2]}"


def _named_atom(message: str) -> Atom | None:
    found = _NAMED_ATOM.search(message)
    if found is None:
        return None
    try:
        return parse_atom(f"!cute_nvgpu.atom.{found[1]}")
    except InputError:
        return None


def _dsl(text: str, message: str) -> str | None:
    """Which DSL versions print so: the one that the text names, or those that word the message so."""
    package = _PACKAGE.search(text)
    return package[1] if package else printed_by(text, message)
