"""Copies from JSON Lines: one object a line, its keys the fields of a `Request`.

    {"src": "(8):(1)", "dst": "(8):(64)", "atom": "cp.async", "bits": 128, "dtype": "bf16", "id": "mine"}

`id` or `loc` names the copy in its report. What harvests of copies carry besides is ignored (`_OTHERS`); any
other key is refused, as nothing would hear it.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import IO

from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError, meant
from layoutcheck.request import Request, kind_of, once, typed
from layoutcheck.sources.request import read

MAX_LINE_BYTES = 1 << 20
MAX_STRANGE = 100
MAX_EMPTY = 10_000
MAX_STRANGE_BYTES = 1 << 26

# The type of every key: text for what may be an object elsewhere.
_KEYS = {one.name: kind_of(one) or str for one in fields(Request)}
_ALSO_NUMBERS = ("mcast_mask",)
# What harvests of copies carry besides.
_OTHERS = {"id", "loc", "count", "kernels", "compiler", "note", "expected"}
_EXPECTED = "the options of explain with '_' for '-', and id"


@dataclass(frozen=True, slots=True)
class Record:
    """A copy from a line, what was assumed of it, and the name it was given."""

    copy: Copy
    assumptions: tuple[str, ...]
    subject: str | None


def read_lines(file: IO[bytes]) -> Iterator[tuple[int, str]]:
    """The numbered lines that are not empty, decoded; one of more than `MAX_LINE_BYTES` is cut off there.

    Raises InputError, so that an endless input ends: after `MAX_STRANGE` lines in a row that are no object,
    `MAX_EMPTY` empty ones, and `MAX_STRANGE_BYTES` without an object.
    """
    number = strange = empty = skipped = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        words, rest = line.strip(), line
        if words[:1] == b"{" and words[-1:] == b"}" and len(line) <= MAX_LINE_BYTES:
            strange = empty = skipped = 0
        else:
            strange, empty = strange + bool(words), empty + (not words)
            while True:
                skipped += len(rest)
                _refuse_endless(number, strange, empty, skipped)
                if not rest or rest.endswith(b"\n"):
                    break
                rest = file.readline(MAX_LINE_BYTES + 1)
        if words:
            yield number, line.decode("utf-8", "replace")


def _refuse_endless(number: int, strange: int, empty: int, skipped: int) -> None:
    if skipped > MAX_STRANGE_BYTES:
        problem = f"{MAX_STRANGE_BYTES >> 20} MiB without a JSON object"
    elif strange > MAX_STRANGE:
        problem = f"{MAX_STRANGE} lines in a row are no JSON objects"
    elif empty > MAX_EMPTY:
        problem = f"{MAX_EMPTY} empty lines in a row"
    else:
        return
    raise InputError(f"not JSON Lines: {problem}, up to line {number}", expected="a JSON object a line")


def read_record(line: str) -> Record:
    """The copy on one line. Raises InputError."""
    if len(line) > MAX_LINE_BYTES:
        raise InputError("a line of more than 1 MiB")
    try:
        record = json.loads(line, object_pairs_hook=once)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", text=line.rstrip("\n"), start=error.pos) from None
    except (RecursionError, ValueError):  # nested too deep, or a number of too many digits
        raise InputError("not JSON that can be read", text=line.rstrip("\n")) from None
    if not isinstance(record, dict):
        raise InputError(
            "not a JSON object", text=line.rstrip("\n"), expected='{"src": ..., "dst": ..., ...}'
        )
    given = {key: value for key, value in record.items() if value is not None}
    arguments = {key: value for key, value in given.items() if key in _KEYS}
    for key in ("src", "dst"):
        if key not in arguments:
            raise InputError(f"no '{key}'", text=line.rstrip("\n"), expected="both 'src' and 'dst'")
    for key in record:
        if key not in _KEYS and key not in _OTHERS:
            raise InputError(f"unknown key '{key[:40]}'{meant(key[:40], _KEYS)}", expected=_EXPECTED)
    for key, value in arguments.items():
        if key not in _ALSO_NUMBERS:
            typed(key, value, _KEYS[key])
    name = "id" if "id" in given else "loc"
    subject = given.get(name)
    if isinstance(subject, (dict, list, bool)):
        raise InputError(f"'{name}' is a {type(subject).__name__}", expected="a string or a number")
    if "op" in arguments:
        arguments["op"] = arguments["op"].removeprefix("cute.")
    try:
        copy, assumptions = read(Request(**arguments))
    except InputError as error:
        raise error.in_json() from None
    return Record(copy, assumptions, None if subject is None else str(subject)[:500])
