"""What a kernel without products moves from one global tensor to another, through shared memory.

A tile that is written through one swizzle and read through another arrives with its elements exchanged: the
coordinates of what is stored are those of what was loaded under exclusive or, as bits (`Linear`). A tile
that is read as the transpose of what was written, in blocks alone, arrives with some bits of both
coordinates exchanged. Slices, transposes and orders within one mode are what kernels do on purpose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from layoutcheck.dsl.lowered.evaluate import tag
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.provenance.judged import Breach, Names
from layoutcheck.provenance.refs import GLOBAL, PAIR, Array
from layoutcheck.provenance.tensors import Tensor
from layoutcheck.sources.mlir import Operation, parse
from layoutcheck.sources.seen import SHARED, seen_through
from layoutcheck.sources.traced_module import tags

_BITS = 24  # of a coordinate, in a number that holds two
SHIFT = 20  # of the operation that wrote, in a number that has both


class Moved(NamedTuple):
    """Bytes that one operation stores: their addresses, what they are copies of, by which two operations."""

    op: Operation
    block: int
    at: Array
    labels: Array
    through: Array


@dataclass(slots=True)
class Moves:
    """Which operation wrote each byte of shared memory, and which read it; `swizzles` of tensor maps.

    `all` is whatever is stored in global memory. A replay ends where more than `most_pairs` elements of
    others meet. `in_order` are the bytes that `misplaced` saw to arrive
    each at its place, or at that of a transpose.
    """

    numbers: dict[Operation, int] = field(default_factory=dict)
    swizzles: dict[Operation, str] = field(default_factory=dict)
    stored: list[Moved] = field(default_factory=list)
    all: list[Moved] = field(default_factory=list)
    in_order: int = 0
    most_pairs: float = math.inf

    def number(self, op: Operation) -> int:
        """A number for an operation, from 1."""
        return self.numbers.setdefault(op, len(self.numbers) + 1)

    def keep(self, op: Operation, block: int, at: Array, labels: Array, through: Array) -> None:
        """Note what is stored; in `stored`, if it is a plain copy that went through shared memory."""
        self.all.append(Moved(op, block, at, labels, through))
        plain = (labels >= GLOBAL) & (labels < PAIR) & (through >> SHIFT > 0)
        if plain.any():
            self.stored.append(Moved(op, block, at[plain], labels[plain], through[plain]))


def pair(writer: Array, reader: int) -> Array:
    """Both operations' numbers as one."""
    return writer << SHIFT | reader


def misplaced(moves: Moves, names: Names, text: str) -> list[Breach]:
    """What arrives at other coordinates because one side has another swizzle, or other strides."""
    found: list[Breach] = []
    groups: dict[tuple[int, int, int], list[Moved]] = {}
    for one in moves.stored:
        for source in np.unique(one.labels // GLOBAL_STEP).tolist():
            mine = one.labels // GLOBAL_STEP == source
            part = one._replace(at=one.at[mine], labels=one.labels[mine], through=one.through[mine])
            groups.setdefault((one.block, int(one.at[0]) // GLOBAL_STEP, source), []).append(part)
    for members in groups.values():
        at, labels, through = (
            np.concatenate([getattr(one, key) for one in members]) for key in ("at", "labels", "through")
        )
        which = np.concatenate([np.full(one.at.size, i) for i, one in enumerate(members)])
        target, source = names.tensor(at), names.tensor(labels)
        if target is None or source is None or target.bytes != source.bytes:
            continue
        whole = (at - target.base) % target.bytes == 0
        if ((labels[whole] - source.base) % source.bytes).any():
            continue
        arrived = _arrived(at[whole], labels[whole], target, source)
        if arrived is None:
            continue
        kind, index, places, given = arrived
        if not kind:
            moves.in_order += len(places) * target.bytes
            continue
        writer, reader = divmod(int(through[whole][index]), 1 << SHIFT)
        ops = list(moves.numbers)
        ways = [_swizzle(ops[n - 1], side, moves, text) for n, side in ((writer, -1), (reader, 0))]
        if None in ways or (kind == "swizzle") == (ways[0] == ways[1]):
            continue
        facts = (
            ("at", tuple(map(int, places[index]))), ("held", tuple(map(int, given[index]))),
            ("written", ways[0] or ""), ("read", ways[1] or ""), ("of", int(whole.sum())),
            ("differ", int((places != given).any(1).sum())),
        )  # fmt: skip
        store = members[int(which[whole][index])].op
        found.append(Breach(kind, ops[reader - 1], "", facts, store, ops[writer - 1]))
    return found


def _arrived(
    at: Array, labels: Array, target: Tensor, source: Tensor
) -> tuple[str, int, Array, Array] | None:
    """How the elements of a tile are exchanged, the number of one that shows it, and all coordinates.

    "" where they are not; None where that is not known, or is an order that may be meant.
    """
    places, given = target.coordinates(at), source.coordinates(labels)
    if places is None or given is None:
        return None
    modes = [np.flatnonzero((one != one[:1]).any(0)) for one in (places, given)]
    if any(len(one) != 2 for one in modes):
        return None
    two = [
        one[:, mode[0]] | one[:, mode[1]] << _BITS for one, mode in zip((places, given), modes, strict=True)
    ]
    images = linear(*two)
    if images is None or len(set(images.values())) < len(images) or 0 in images.values():
        return None
    mixed = [(bit, image) for bit, image in images.items() if image & (image - 1)]
    if mixed:
        return "swizzle", _sample(two[0], mixed[0][0]), places, given
    extents = [sorted(m.extent for m in one.modes if m.place in mode.tolist())
               for one, mode in zip((target, source), modes, strict=True)]  # fmt: skip
    crossed = [bit for bit, image in images.items() if (bit < _BITS) != (image.bit_length() - 1 < _BITS)]
    if not crossed or len(crossed) == len(images):
        return "", 0, places, given
    if extents[0] != extents[1]:
        return None
    return "blocks", _sample(two[0], crossed[0]), places, given


def _sample(numbers: Array, bit: int) -> int:
    return int(np.flatnonzero((numbers ^ numbers[0]) == 1 << bit)[0])


def linear(given: Array, results: Array) -> dict[int, int] | None:
    """The image of each bit of `given`, where results are exclusive ors of these; else None."""
    apart, images = given ^ given[0], results ^ results[0]
    found = {}
    expected = np.zeros_like(images)
    for bit in range(int(np.bitwise_or.reduce(apart)).bit_length()):
        mine = apart == 1 << bit
        if not (apart >> bit & 1).any():
            continue
        if not mine.any():
            return None
        found[bit] = int(images[mine][0])
        expected ^= (apart >> bit & 1) * found[bit]
    return found if bool((images == expected).all()) else None


def _swizzle(op: Operation, side: int, moves: Moves, text: str) -> str | None:
    """The swizzle through which an operation sees its first (0) or last (-1) operand in shared memory.

    It is of bytes. "" for none; None for raw bytes, and where it cannot be told.
    """
    if op in moves.swizzles:
        return moves.swizzles[op]
    traced = _by_tag(text).get(tag(op))
    if traced is None or any(
        "bulk" in word for word in (traced.name, *(one.type for one in traced.operands))
    ):
        return None
    views = [one for one in traced.operands if SHARED.match(one.type)]
    if not views:
        return None
    seen = seen_through(views[side])
    return None if seen is None else str(seen) if seen.bits else ""


@lru_cache(maxsize=1)  # of one module after the other
def _by_tag(text: str) -> dict[str, Operation]:
    """The operations of a traced module by their tags."""
    ops = list(parse(text).walk())
    return dict(zip(tags(one.name for one in ops), ops, strict=True))
