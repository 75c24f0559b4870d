"""What the verifier's messages mean, for pastes that hold a message without the operand types.

Wordings measured on DSL 4.2.1, 4.3.5, 4.5.0 and 4.8.1, a row of messages.txt each. White space is ignored in
matching: terminals wrap.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from layoutcheck.algebra import parse_tree
from layoutcheck.catalogue import reasons
from layoutcheck.catalogue.rows import rows
from layoutcheck.copies.predicate import surplus
from layoutcheck.digits import is_number
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype

SHOW_TYPES = (
    "`layoutcheck trace --no-launch SCRIPT` sees them, judges the copy and needs no GPU. Or run the "
    "program with CUTE_DSL_SHOW_STACKTRACE=1 and paste everything: the message then holds the types"
)
PRINT_THEM = (
    "print(src) and print(dst) before the line, and give what they print: "
    "layoutcheck explain SRC DST --atom ATOM"
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """`code` is the rule's; `title` one line; `meaning` the reason; `evidence` the numbers in the message."""

    code: str
    title: str
    meaning: str
    operand: str | None = None
    evidence: dict[str, Any] = field(default_factory=dict)


class _Wording(NamedTuple):
    """`pattern` is matched against the message without white space; `title` is formatted with its groups.

    Only a copy's message says what is `alone`; other operations and tools have the other words, too.
    """

    pattern: str
    code: str
    title: str
    meaning: str
    alone: bool = True


_MATRIX = re.compile(r"ldsm|stsm|ldmatrix|stmatrix")
_ROWS = (
    "ldmatrix and stmatrix move rows of 16 bytes, {elements} elements: each row of the shared layout begins "
    "at a multiple of 16 bytes, and its swizzle keeps 16 bytes together (in elements Swizzle<B,M,S> with M "
    "of {base} or more; the unit's make_smem_layout_atom has such layouts). "
)


def _wordings() -> Iterator[_Wording]:
    """Those of messages.txt."""
    shared: dict[str, str] = {}
    for row in rows(str(Path(__file__).with_suffix(".txt"))):
        pattern, title, meaning, like = map(row.field, ("pattern", "title", "meaning", "like"))
        if pattern:
            whole = " ".join(filter(None, (meaning, shared.get(like))))
            yield _Wording(pattern, row.name, title, whole, row.traits == "alone")
        else:
            shared[row.name] = meaning


_WORDINGS = tuple(_wordings())
_SIDES = {"src": "the source", "S": "the source", "dst": "the destination", "D": "the destination"}


def is_message(text: str) -> bool:
    """Whether lines that may miss the operation's name hold what only the verifier of a copy says."""
    squeezed = "".join(text.split())
    return any(wording.alone and re.search(wording.pattern, squeezed) for wording in _WORDINGS)


def explain(message: str) -> Explanation | None:
    """What a verifier's message means; None for one that is not known."""
    squeezed = "".join(message.split())
    for wording in _WORDINGS:
        found = re.search(wording.pattern, squeezed)
        if found is None:
            continue
        facts: dict[str, Any] = {k: v for k, v in found.groupdict().items() if v is not None}
        operand = {"S": "src", "D": "dst"}.get(facts.get("operand", ""), facts.get("operand"))
        side = _SIDES.get(facts.get("operand", ""), "an operand")
        title = wording.title.format(**{**facts, "operand": side})
        units = {"have": "have_bits", "need": "need_bits"}
        evidence = {
            units.get(key, key): int(value) if is_number(value) else value
            for key, value in facts.items()
            if key != "operand"
        }
        return Explanation(
            wording.code,
            title,
            _with_numbers(wording.meaning, squeezed, facts)
            if wording.code == "LC101"
            else _differing(squeezed) + _beyond(squeezed) + wording.meaning,
            operand if operand in ("src", "dst") else None,
            evidence,
        )
    return None


def of_family(message: str) -> Explanation | None:
    """What a message without a wording of its own means, by its family; None for none."""
    family = reasons.find(message)
    if family is None:
        return None
    return Explanation("LC100", "the compiler refuses this copy", f"{family.cause} {family.helps}.")


def _with_numbers(meaning: str, message: str, facts: dict[str, Any]) -> str:
    """The promise in bytes, and in elements of the atom's type; where the message has neither, 16 of 2."""
    bits = int(facts.get("need", 128))
    atom = re.search(r"(?:(?:!cute_nvgpu\.atom\.|ofatom['`]?)\w+<|val_type=)(\w+),", message)
    try:
        width = dtype(atom[1]).bits if atom else 16
    except InputError:
        width = 16
    rows = (
        _ROWS.format(elements=128 // width, base=(128 // width).bit_length() - 1)
        if _MATRIX.search(message)
        else ""
    )
    return (
        _proved(int(facts.get("have", 0)), bits, width if atom else 0, narrower=not rows)
        + rows
        + meaning.format(bytes=max(1, bits // 8), elements=max(1, bits // width))
    )


def _proved(have: int, need: int, width: int, *, narrower: bool) -> str:
    """What an alignment of `have` bits comes from, in elements of `width` bits; "" where it tells nothing.

    `narrower` says whether the copy could move fewer bits at once.
    """
    if not (width and have) or have % width:
        return ""
    if have == width:
        return (
            "A single element's alignment is all that is known: the vector runs along a mode of another "
            "stride than 1 (values laid along the wrong mode, a transposed view), or nothing is promised. "
        )
    return (
        f"Addresses are known to be multiples of {have // 8} bytes, {have // width} elements: a stride or "
        f"offset, so often a row's pitch, is no multiple of {need // width} elements. Pad it"
        f"{f', or move {have} bits at once' if narrower else ''}. "
    )


_LAYOUT = re.compile(r"!cute\.(?:composed_)?layout<\"(?:S<[0-9,]+>o[^\"()]{1,20}o)?([^\":]{1,300}):")


def _differing(message: str) -> str:
    """In which mode the shared layout and the tile of a message differ in size; "" where it lacks either."""
    shapes = _LAYOUT.findall(message)
    try:
        first, second = map(parse_tree, shapes)
    except (InputError, ValueError):  # not two
        return ""
    if any("?" in shape for shape in shapes):
        return ""
    path: list[int] = []
    while isinstance(first, tuple) and isinstance(second, tuple) and len(first) == len(second):
        pairs = zip(first, second, strict=True)
        at = next((at for at, (one, other) in enumerate(pairs) if _size(one) != _size(other)), None)
        if at is None:
            return ""
        path.append(at)
        first, second = first[at], second[at]
    if _size(first) == _size(second):
        return ""
    mode = ".".join(map(str, path)) or "all"
    return f"Mode {mode} is {_written(first)} in the shared layout and {_written(second)} in the tile. "


_PREDICATE = re.compile(
    r"compatibleshapewith:(?P<want>[0-9(),]{1,200})butgotactualpredShape:(?P<got>[0-9(),]{1,200})"
)


def _beyond(message: str) -> str:
    """Which mode the predicate of a message has beyond what is asked; "" for any other message."""
    found = _PREDICATE.search(message)
    try:
        said = surplus(parse_tree(found["want"]), parse_tree(found["got"])) if found else ""
    except InputError:  # cut off
        return ""
    return f"{said}. " if said else ""


def _size(shape: Any) -> int:
    return math.prod(map(_size, shape)) if isinstance(shape, tuple) else int(shape)


def _written(shape: Any) -> str:
    """`(16,(4,2)) (128 elements)`."""
    return f"{str(shape).replace(' ', '').replace(',)', ')')} ({_size(shape):,} elements)"
