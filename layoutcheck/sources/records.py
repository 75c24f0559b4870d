"""Copies from JSON Lines: one object a line, its keys the arguments of `sources.request.build`.

    {"src": "(8):(1)", "dst": "(8):(64)", "atom": "cp.async", "bits": 128, "dtype": "bf16", "id": "mine"}

`id` or `loc` names the copy in its report; other keys are ignored, unless they look like a misspelt argument.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import IO, Any

from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.sources.request import build

MAX_LINE_BYTES = 1 << 20
MAX_STRANGE = 100
MAX_EMPTY = 10_000
MAX_STRANGE_BYTES = 1 << 26

_NUMBERS = ("bits", "src_align", "dst_align", "block", "expect_bytes", "cluster", "cta_rank", "waits_rank")
_FLAGS = ("evict_priority",)
# What harvests of copies carry besides.
_OTHERS = {"id", "loc", "count", "kernels", "compiler", "note", "expected"}


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
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", text=line.rstrip("\n"), start=error.pos) from None
    except (RecursionError, ValueError):  # nested too deep, or a number of too many digits
        raise InputError("not JSON that can be read", text=line.rstrip("\n")) from None
    if not isinstance(record, dict):
        raise InputError(
            "not a JSON object", text=line.rstrip("\n"), expected='{"src": ..., "dst": ..., ...}'
        )
    given = {key: value for key, value in record.items() if value is not None}
    arguments = {key: value for key, value in given.items() if key in _arguments()}
    for key in ("src", "dst"):
        if key not in arguments:
            raise InputError(f"no '{key}'", text=line.rstrip("\n"), expected="both 'src' and 'dst'")
    for key in given.keys() - arguments.keys() - _OTHERS:
        _refuse_misspelling(key)
    for key, value in arguments.items():
        _check_type(key, value)
    if "op" in arguments:
        arguments["op"] = arguments["op"].removeprefix("cute.")
    copy, assumptions = build(**arguments)
    subject = given.get("id", given.get("loc"))
    return Record(copy, assumptions, None if subject is None else str(subject)[:500])


@cache
def _arguments() -> frozenset[str]:
    return frozenset(inspect.signature(build).parameters)


def _check_type(key: str, value: Any) -> None:
    if key == "mcast_mask":  # a number, or one as the DSL's users write it ("0b11")
        return
    wanted: type = int if key in _NUMBERS else bool if key in _FLAGS else str
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        names = {int: "a whole number", bool: "true or false", str: "a string"}
        raise InputError(f"'{key}' is {names[wanted]}, not {json.dumps(value)[:40]}")


def _refuse_misspelling(key: str) -> None:
    from difflib import get_close_matches

    close = get_close_matches(key[:40], sorted(_arguments()), n=1, cutoff=0.7)
    if close:
        raise InputError(f"unknown key '{key[:40]}'", expected=f"'{close[0]}'")
