"""Accesses outside of the tensors that a kernel is given, and of its own shared allocations.

Of tensors the last block of the grid is judged, and only where everything is known: the tensor's type says
its extents and strides, the grid is the host's, and neither the address nor whether the access is made rests
on more than threads, blocks and loop counters. A missing predicate, one of another mode or one for several
elements is told by block, thread and byte. Allocations are judged in block 0, by the same conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from layoutcheck.dsl.lowered.allocations import APART, PERIOD, Allocation, Placed
from layoutcheck.dsl.lowered.evaluate import Corner
from layoutcheck.dsl.lowered.lowered_op import access_parts
from layoutcheck.dsl.lowered.record import Mask, Recorded
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.sources.traced import LoweredFault

RUN_TIME = "extents or grid known at run time"


def beyond(corner: Corner, threads: int, widest_bytes: int) -> dict[str, list[LoweredFault]]:
    """The first fault of each side of every operation, by its tag."""
    found: dict[str, list[LoweredFault]] = {}
    for tag, accesses in corner.accesses.items():
        sides: dict[str, LoweredFault] = {}
        for access in accesses:
            if access.reached:
                for fault in _faults(corner, access, threads, widest_bytes):
                    sides.setdefault(fault.side, fault)
        if sides:
            found[tag] = list(sides.values())
    return found


def _faults(corner: Corner, access: Recorded, threads: int, widest_bytes: int) -> Iterator[LoweredFault]:
    active = np.ones(threads, bool) if access.active is None else access.active
    for side, op, space, width, address in access_parts(access, widest_bytes):
        size = _bound(corner, access, side) if space == "gmem" else None
        if size is None or isinstance(size, str):
            continue
        row = np.broadcast_to(np.asarray(address, np.int64), (threads,))
        reads = np.full(threads, width)
        if access.op.startswith("cp.async") and access.coordinates:  # how many bytes it reads
            reads = np.broadcast_to(np.asarray(access.coordinates[0], np.int64), (threads,))
        wrong = active & (reads > 0) & ((row < 0) | (row + reads > size))
        if wrong.any():
            thread = int(wrong.argmax())
            yield LoweredFault(
                "beyond", ("src", "dst")[side], op, "gmem", thread, int(row[thread]), int(reads[thread]),
                size, str(corner.at).replace(" ", ""),
            )  # fmt: skip


def _bound(corner: Corner, access: Recorded, side: int) -> int | str:
    """The bytes of the tensor that an access to global memory must stay in, or why they are not judged."""
    second = access.second_space == "gmem" and side == 0 and access.second is not None
    own, place = access.provenance, access.address
    if second and access.second is not None:
        own, place = access.second_provenance, access.second
    if corner.reasons.worst(own | access.guard) != "static":
        return "addresses or predicates known at run time"
    return corner.sizes.get(int(np.asarray(place).flat[0]) // GLOBAL_STEP, RUN_TIME)


def unchecked(corner: Corner | None, accesses: Iterable[Recorded], widest_bytes: int) -> str:
    """Why the bounds of an operation's accesses to global memory are not judged; "" where they are.

    `accesses` are those of the last block, or of block 0 where there is no `corner`. TMA keeps to its tensor
    by itself: its instructions are not counted here.
    """
    for access in accesses:
        for side, _, space, _, _ in access_parts(access, widest_bytes) if access.reached else ():
            if space == "gmem":
                bound = RUN_TIME if corner is None else _bound(corner, access, side)
                if isinstance(bound, str):
                    return bound
    return ""


def leaving(placed: Placed, threads: int, widest_bytes: int) -> dict[str, list[LoweredFault]]:
    """The first access on each side of every operation that leaves its own allocation, by tag."""
    found: dict[str, list[LoweredFault]] = {}
    slots = {one.start // APART: one for one in placed.at}
    for tag, accesses in placed.accesses.items():
        sides: dict[str, LoweredFault] = {}
        for access in accesses:
            if access.reached:
                for fault in _leaving(placed, slots, access, threads, widest_bytes):
                    sides.setdefault(fault.side, fault)
        if sides:
            found[tag] = list(sides.values())
    return found


def _leaving(
    placed: Placed, slots: Mapping[int, Allocation], access: Recorded, threads: int, widest_bytes: int
) -> Iterator[LoweredFault]:
    active = _addressing(access, threads)
    for side, op, space, width, address in access_parts(access, widest_bytes):
        second = space == access.second_space and side == 0 and access.second is not None
        own = access.second_provenance if second else access.provenance
        if space != "smem" or not active.any() or placed.reasons.worst(own | access.guard) != "static":
            continue
        row = np.broadcast_to(np.asarray(address, np.int64), (threads,))
        one = placed.at[0] if len(placed.at) == 1 else slots.get(int(row[active.argmax()]) // APART)
        if one is None:
            continue
        wrong = active & ((row < one.start) | (row + width > one.start + one.size))
        if wrong.any():
            thread = int(wrong.argmax())
            yield LoweredFault(
                "leaves", ("src", "dst")[side], op, "smem", thread, int(row[thread]) - one.start, width,
                one.size, base=one.start % PERIOD, align=one.align,
            )  # fmt: skip


def _addressing(access: Recorded, threads: int) -> Mask:
    """The threads whose address counts: those of ldmatrix and stmatrix give eight rows a matrix."""
    active = np.ones(threads, bool) if access.active is None else access.active
    if "matrix" not in access.op:
        return active
    rows = 8 * int(access.op.rpartition(".x")[2])
    return active & (np.arange(threads) % 32 < rows)
