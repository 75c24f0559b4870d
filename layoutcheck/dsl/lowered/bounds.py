"""Accesses outside of the tensors that a kernel is given, in the last block of its grid.

Only where everything is known: the tensor's type says its extents and strides, the grid is the host's, and
neither the address nor whether the access is made rests on more than threads, blocks and loop counters. A
missing predicate, one of another mode or one for several elements is told by block, thread and byte.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutcheck.dsl.lowered.evaluate import Corner
from layoutcheck.dsl.lowered.lowered_op import access_parts
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.sources.traced import LoweredFault


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
        second = space == access.second_space and side == 0 and access.second is not None
        own = access.second_provenance if second else access.provenance
        place = access.second if second else access.address
        if space != "gmem" or place is None or corner.reasons.worst(own | access.guard) != "static":
            continue
        size = corner.sizes.get(int(np.asarray(place).flat[0]) // GLOBAL_STEP)
        if size is None:
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
