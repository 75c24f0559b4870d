"""What one access does in shared memory: which bytes, by which threads, and which of them leave a range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.allocations import APART
from layoutcheck.dsl.lowered.lowered_op import access_parts
from layoutcheck.dsl.lowered.record import BULK_COPY, Mask, Recorded
from layoutcheck.dsl.lowered.views import Member, Touch
from layoutcheck.sources.traced import LoweredFault

SIDES = ("src", "dst")
MBARRIER_BYTES = 8  # PTX ISA, mbarrier: an opaque 64-bit object
LATE = ("tma.load", "tma.store", BULK_COPY)  # what completes later


class Met(NamedTuple):
    """What an access does on one side in shared memory: `width` bytes at the addresses `row` of threads."""

    name: str
    number: int
    side: int
    op: str
    width: int
    row: IntArray
    active: Mask

    @property
    def slot(self) -> int:
        """The number of the place where its allocation is, of those far apart."""
        return int(self.row[self.active.argmax()]) // APART

    def touch(self, start: int, member: Member | None) -> Touch:
        """The bytes, counted from an allocation's start."""
        rows = np.unique(self.row[self.active]) - start
        return Touch(self.number, self.name, self.side, rows, self.width, member, self.op in LATE)

    def outside(self, start: int, size: int) -> Mask:
        """The threads that leave so many bytes."""
        return self.active & ((self.row < start) | (self.row + self.width > start + size))

    def fault(self, kind: str, start: int, size: int, **more: Any) -> LoweredFault:
        """The first thread that leaves them."""
        thread = int(self.outside(start, size).argmax())
        at = int(self.row[thread]) - start
        return LoweredFault(kind, SIDES[self.side], self.op, "smem", thread, at, self.width, size, **more)


def in_shared(
    access: Recorded, widest_bytes: int, box_bytes: int
) -> Iterator[tuple[int, str, int, IntArray | int]]:
    """(side, op, bytes, address) of what an access does in the block's shared memory, or in a peer's."""
    if access.op in LATE:
        size = access.size or box_bytes
        sides = (1, access.space, access.address), (0, access.second_space, access.second)
        for side, space, address in sides:
            if space in ("smem", "dsmem") and size and address is not None:
                side = 0 if access.op == "tma.store" else side
                yield side, access.op, size, spaces.in_object(space, address)[1]
        return
    if "mbarrier" in access.op:
        sides = (1,) if access.op == "mbarrier.init" else (1, 0)
        own = access.space == "smem" and "cluster" not in access.facts.get("space", "")
        for side in sides if own else ():
            yield side, access.op, MBARRIER_BYTES, spaces.in_object(access.space, access.address)[1]
        return
    for side, op, space, width, address in access_parts(access, widest_bytes):
        if space == "smem":
            yield side, op, width, address


def addressing(access: Recorded, threads: int) -> Mask:
    """The threads whose address counts: those of ldmatrix and stmatrix give eight rows a matrix."""
    active = np.ones(threads, bool) if access.active is None else access.active
    if "matrix" not in access.op:
        return active
    rows = 8 * int(access.op.rpartition(".x")[2])
    return active & (np.arange(threads) % 32 < rows)
