"""What a message of the DSL says when no entry is about it: the kind of refusal, and the operation that refuses.

`reasons` has families of messages with one cause; what none of them answers is told by its kind. `KINDS` goes by the words of the message (a mode out of range, two ranks that differ), `ROOMS` by the
operation or the file of the DSL that prints it. Together they give a cause and a place to look for every message.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

from layoutcheck.algebra import (
    Layout,
    composition,
    crd2idx,
    inttuple,
    logical_divide,
    parse_layout,
    parse_tile,
    parse_tree,
)
from layoutcheck.algebra.inttuple import rank, wrap
from layoutcheck.algebra.modes import leaves
from layoutcheck.brackets import split
from layoutcheck.catalogue import meanings, operand_types, reasons
from layoutcheck.catalogue.entry import TRACE
from layoutcheck.catalogue.meanings import Meaning
from layoutcheck.digits import many
from layoutcheck.errors import InputError

KINDS, ROOMS = meanings.read("refusals"), meanings.read("operations")
OTHER = "Recognised, not explained: the text does not hold what decides it."
_FALLBACK = "Print the arguments before the line and compare them with help() of the function. " + TRACE
_LONGEST = 300  # characters of two operands
_SPECIFIC = 6  # the first of them say more than the kind of the message does
_LAYOUT, _TILER = (
    r"'?[!#]cute\.layout<\"(?P<layout>[^\"]{1,200})\">'?",
    r"'?[!#]cute\.(?:layout|tile)<\"(?P<tiler>[^\"]{1,200})\">",
)
_DIVISION = re.compile(rf"division of {_LAYOUT} by {_TILER}")
_COMPOSITION = re.compile(
    r"following composition: (?:'![^\"]{1,200}\")?(?P<layout>[^\s'\"]{1,200})(?:\">')? o (?:'![^\"]{1,60}\")?(?P<tiler>[^\s'\"]{1,200})"
)
_INCONGRUENT = re.compile(r"(?P<name>\w*coord\w*|tiler|dicer)\b[^.]{0,80}\bcongruent\b[^.]{0,60}?\bgot:? ")
_RANKED = re.compile(
    r"\brank (?:>=|==|of at least|at least|of) (?P<least>[1-9])\b.{0,40}?\bgot\b.{0,80}?(?:\bo |[\"' ])(?P<shape>\([0-9(),?_]{1,60}\))(?=:\()"
)
_PAIRED = re.compile(
    r"(?:rank\((?:input|tiler)\) [<>]= rank\(|\bcongruent\b|same size in |compatible shape with|shape equivalence)"
)
_PRINTED = re.compile(
    r"(?P<name>\w*[sS]hape: )?(?:[!#]cute\.(?:composed_)?(?P<type>layout|coord|tile|shape)<\"(?:S<[0-9,]+> o [0-9]+ o )?(?P<inside>\[[^\"]{1,120}\]|[^\":]{1,120}(?=[:\"]))|(?<![\w<\":])(?P<plain>\([0-9(),?_{}=a-z]{1,80}\)))"
)
_COORDINATE = re.compile(rf"crd2idx with {_LAYOUT} and '?[!#]cute\.coord<\"(?P<tiler>[^\"]{{1,200}})\">")
_BOILERPLATE = re.compile(r" (?:(?<!: )error: |Error Code:|\U0001F4A1|suggestion:|note:|= note:|-->|see current operation|File \"|\| [0-9]+ \||"
    r"(?:INFO|WARN(?:ING)?|ERROR|DEBUG|CRITICAL)(?:[: ]+[0-9]{2,4}[-/]|:? \[)|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]|\[rank[0-9]+\]|\([\w ]+ pid=).*$"  # a log's next line
)  # fmt: skip


_GOT = re.compile(r"(?:,? but|;|,)? (?:got|found|is given)\b.*$")
_TYPE = re.compile(r"[!#]?\b[\w.]*<[^<>]*(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>[^<>]*)*>|<[^<>]*>")


def message(said: str) -> str:
    """The message without what the DSL prints behind each: its arrow, its notes, its suggestions."""
    return _BOILERPLATE.sub("", said).strip().rstrip(".")


def kind(said: str) -> Meaning | None:
    """The kind of a message: by what it asks for, else by what it got."""
    plain = _TYPE.sub("", said)
    texts = (_GOT.sub("", plain), plain, said if "<class" in said else "")
    return next(filter(None, (meanings.first(KINDS, text) for text in texts)), None)


def answer(said: str, where: str = "") -> tuple[str, str]:
    """(why a message of these words is raised, what to change): by its operands' types, by its family, else by its kind.

    What to change is also told by the operation or file that refuses.
    """
    typed = operand_types.told(said)
    if typed:
        return typed
    reason = reasons.find(said, where)
    if reason:
        return reason.told(said)
    found = kind(said)
    of_kind = found.helps if found else ""
    helps = _helps(where, ROOMS[:_SPECIFIC]) or of_kind or _helps(where, ROOMS) or _helps(said, ROOMS)
    return found.cause if found else OTHER, helps or _FALLBACK


def _helps(text: str, rooms: tuple[Meaning, ...]) -> str:
    found = meanings.first(rooms, text)
    return found.helps if found else ""


def reason(text: str) -> str | None:
    """Which mode is in the way of a division, composition or coordinate that failed, where the text holds both operands."""
    if found := _INCONGRUENT.search(text):
        return _apart(found["name"], text[found.end() : found.end() + _LONGEST])
    if found := _RANKED.search(text):
        return _flatter(int(found["least"]), found["shape"])
    if (found := _PAIRED.search(text)) and (told := _unlike(text[found.end() : found.end() + _LONGEST])):
        return told
    for pattern, read, operation in _OPERATIONS:
        found = pattern.search(text)
        if found is None:
            continue
        try:
            layout, other = parse_layout(found["layout"]), read(found["tiler"])
        except InputError:
            return None  # the text has a value that only the run knows
        try:
            result = operation(layout, other)
        except InputError as error:
            return error.message
        return _unmerged(layout, result) if "?" in found["layout"] else None
    return None


_MEMREF = re.compile(r"!cute\.memref<[^\"]{1,200}\"(?P<layout>[^\"]{1,200})\">")
_FRAGMENTS = ("D", "VMN"), ("A", "VMK"), ("B", "VNK")


def product(text: str) -> tuple[str, ...]:
    """Which of M, N and K differ in the fragments of a cute.gemm whose operation the text holds, and where."""
    _, _, operation = text.partition('"cute.gemm"')
    printed = [one["layout"] for one in _MEMREF.finditer(operation)][: len(_FRAGMENTS)]
    if len(printed) < len(_FRAGMENTS):
        return ()
    sizes: dict[str, dict[str, str]] = {}
    for (name, modes), layout in zip(_FRAGMENTS, printed, strict=True):
        try:
            shape = parse_layout(layout).shape
        except InputError:
            return ()
        if rank(shape) != len(modes):
            return (
                f"{name} has {rank(shape)} modes, {layout.partition(':')[0]}, and not ({','.join(modes)})",
            )
        for mode, extent in zip(modes, wrap(shape), strict=True):
            sizes.setdefault(mode, {})[name] = str(inttuple.product(extent))
    told = [
        f"{mode} is {', '.join(f'{count} in {one}' for one, count in sizes.get(mode, {}).items())}"
        for mode in "MNK"
        if len(set(sizes.get(mode, {}).values())) > 1
    ]
    return (f"{' and '.join(told)} (in instructions, as the fragments count them)",) if told else ()


def _unmerged(layout: Layout, result: object) -> str | None:
    """Why the DSL finds no result where there is one: it does not join modes of run-time extents."""
    modes = leaves(layout)
    pairs = itertools.pairwise(modes)
    if not all(
        isinstance(one.extent, int) and other.stride == one.extent * one.stride for one, other in pairs
    ):
        return None
    return (
        f"the result is {result}, since the modes of {layout} follow one another in memory; the DSL does not join modes whose "
        "extents only the run knows, and asks each to divide by itself. Make it one mode before: cute.make_layout(cute.size(layout))"
    )


def _apart(name: str, printed: str) -> str | None:
    """Where a coordinate or tiler has modes that the layout lacks; None where the text lacks one of them, or they pair.

    Both stand at the head of `printed`, as the DSL's types or in plain brackets; in these the layout is the second.
    """
    pair = [(one["type"] or "", one["inside"] or one["plain"]) for one in _PRINTED.finditer(printed)]
    typed, plain = dict(pair), [shape for kind, shape in pair if not kind]
    coordinate, layout = (
        typed.get(one) or typed.get(other) for one, other in (("coord", "tile"), ("layout", "shape"))
    )
    if not any(kind for kind, _ in pair) and len(plain) > 1:
        coordinate, layout = plain[:2]
    return _deeper(name, coordinate, "the layout", layout) if coordinate and layout else None


def _unlike(printed: str) -> str | None:
    """How the first two of the printed shapes, layouts, tilers and coordinates differ: in their modes, or in the size of one."""
    pair = [
        (f"{one['name'] or one['type'] or 'the expected'} ".replace(": ", ""), one["inside"] or one["plain"])
        for one in _PRINTED.finditer(printed)
    ][:2]
    if len(pair) < 2:
        return None
    (one, first), (other, second) = ((f"{name}{shape}", _modes(shape)) for name, shape in pair)
    if len(first) != len(second):
        return f"{one} has {_counted(first)}, and {other} has {_counted(second)}"
    for at, modes in enumerate(zip(first, second, strict=True)):
        try:
            sizes = [inttuple.product(parse_tree(mode.partition(":")[0])) for mode in modes]
        except InputError:
            continue
        if sizes[0] != sizes[1]:
            return f"mode {at} has {sizes[0]} elements in {one}, and {sizes[1]} in {other}"
    return None


def _counted(modes: list[str]) -> str:
    return many(len(modes), "mode") if modes else "one number and no modes"


def _flatter(least: int, shape: str) -> str | None:
    """That a printed tensor has fewer modes than a message asks for; None where it has as many."""
    have = _modes(shape)
    return f"the shape {shape} has {_counted(have)}, and {least} are asked for" if len(have) < least else None


def _deeper(name: str, one: str, other: str, shape: str) -> str | None:
    """The first mode, from the left, in which `one` is not weakly congruent to a shape; None where it is."""
    parts, extents = _modes(one), _modes(shape)
    if not parts:
        return None
    if not extents:
        return f"{name} {one} has {_counted(parts)} where {other} has the one extent {shape}"
    if len(parts) != len(extents):
        return f"{name} {one} has {_counted(parts)}, and {other} {shape} has {len(extents)}"
    each = enumerate(zip(parts, extents, strict=True))
    found = (
        _deeper(f"mode {at} of {name}", part, f"mode {at} of {other}", extent) for at, (part, extent) in each
    )
    return next(filter(None, found), None)


def _modes(text: str) -> list[str]:
    """The modes of a tuple; none of an integer."""
    if text.startswith("["):
        return text[1:-1].split(";")
    return [one.strip() for one in split(text[1:-1])] if text.startswith("(") and text.endswith(")") else []


def _tile(text: str) -> Any:
    return parse_tile(text) if text.startswith("[") or ":" not in text else parse_layout(text)


_OPERATIONS: tuple[tuple[re.Pattern[str], Callable[[str], Any], Callable[[Layout, Any], object]], ...] = (
    (_DIVISION, _tile, logical_divide),
    (_COMPOSITION, _tile, composition),
    (_COORDINATE, parse_tree, lambda layout, coordinate: crd2idx(coordinate, layout)),
)  # by what a text prints of each that has no result
