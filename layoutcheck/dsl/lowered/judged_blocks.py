"""Blocks that were evaluated, held against the tensors in global memory that they access."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from zlib import crc32

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered.arguments import EXTENTS
from layoutcheck.dsl.lowered.blocks import Blocks
from layoutcheck.dsl.lowered.grid import OVERFLOW, RUN_TIME
from layoutcheck.dsl.lowered.lowered_op import global_parts
from layoutcheck.dsl.lowered.record import BULK_COPY, Mask, Recorded
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.sources.evaluated import Evaluated, Inside
from layoutcheck.sources.traced import LoweredFault

LOADED = "addresses or predicates known at run time"
NOT_MET = "no evaluated block reaches it"


@dataclass(slots=True)
class Judged:
    """The first fault of each side of an operation; `sure` says that it rests on no number that was given.

    `run` names the blocks that were evaluated, "some" or all of them, and the sides, objects and
    bytes of what the operation accesses. `inside` counts the bytes that stay in their
    tensor's memory there, `within` those that begin or end inside of its modes (`modes.py`), -1 where that is
    not known.
    `left` are the objects that accesses leave, with their bytes. `strays` is a read that stays in its
    tensor's memory and leaves a mode of it. `short` says that nothing comes to the end of a tensor; `ends`
    are the objects whose last byte is written, `begins` those whose first one is.
    """

    faults: list[LoweredFault]
    sure: bool
    run: Evaluated
    inside: int = 0
    within: int = -1
    left: dict[int, int] = field(default_factory=dict)
    strays: LoweredFault | None = None
    short: bool = False
    ends: set[int] = field(default_factory=set)
    begins: set[int] = field(default_factory=set)

    @property
    def stays(self) -> Inside:
        """What of the operation is inside."""
        found = Inside(self.inside, self.within)
        return replace(found, none=not found.most)


def judge_all(
    blocks: Blocks | str, tags: Collection[str], extent: int | None, widest_bytes: int
) -> dict[str, Judged | str]:
    """What evaluated blocks do under `tags`, or why it is not known; `extent` is told with faults."""
    if isinstance(blocks, str):
        return dict.fromkeys(tags, blocks)
    found = {tag: _judge(blocks, blocks.accesses.get(tag, ()), extent, widest_bytes) for tag in tags}
    for tag, why in blocks.unfinished.items():
        one = found.get(tag)
        if isinstance(one, Judged) and not one.faults:
            found[tag] = why
    return found


def _judge(
    blocks: Blocks, accesses: Collection[Recorded], extent: int | None, widest_bytes: int
) -> Judged | str:
    run = Evaluated(extent or 0, crc32(repr(blocks.at).encode()), blocks.whole)
    found = Judged([], blocks.rests == "static", run)
    objects = dict[tuple[int, int, int], None]()
    reached = [access for access in accesses if access.reached]
    if not reached and not blocks.whole:
        return NOT_MET
    for access in reached:
        for side, op, space, width, address in global_parts(access, widest_bytes):
            if space != "gmem":
                continue
            size, sure = _bound(blocks, access, side)
            if isinstance(size, str):
                return size
            objects[side, object_of(access, side), size] = None
            found.sure = found.sure and sure
            row, reads = spans(blocks, access, width, address)
            stays = (row >= 0) & (row + reads <= size)
            found.short = found.short or int((row + reads).max(initial=0)) < size
            edges = ((row + reads == size, found.ends), (row == 0, found.begins)) if side == 1 else ()
            for at, ends in edges:
                if (at & (reads > 0)).any():
                    ends.add(object_of(access, side))
            found.inside += int(reads[stays].sum())
            fault = _beyond(blocks, access, (side, op, size), row, reads, stays, 0 if sure else extent or 0)
            if fault is None:
                continue
            found.left[object_of(access, side)] = size
            if fault.side not in {one.side for one in found.faults}:
                found.faults.append(fault)
    found.run = replace(run, objects=tuple(objects))
    return found


def spans(blocks: Blocks, access: Recorded, width: int, address: IntArray | int) -> tuple[IntArray, IntArray]:
    """Where every thread of every block begins, and how many bytes it moves: 0 where it does nothing."""
    total = blocks.threads * len(blocks.at)
    row = for_all(address, total)
    bytes_ = np.full(total, width)
    if access.op.startswith(("cp.async", BULK_COPY)) and access.coordinates:  # how many bytes it reads
        bytes_ = for_all(access.coordinates[0], total)
    return row, bytes_ if access.active is None else np.where(access.active, bytes_, 0)


def _beyond(
    blocks: Blocks, access: Recorded, what: tuple[int, str, int], row: IntArray, reads: IntArray,
    stays: Mask, extent: int,
) -> LoweredFault | None:  # fmt: skip
    """The first thread of the last block that leaves a tensor of so many bytes, if any does."""
    side, op, size = what
    own = access.provenance | (access.second_provenance if op == "cp.async" else 0)
    wrong = (reads > 0) & ~stays
    if not wrong.any():
        return None
    block = int(np.flatnonzero(wrong)[-1]) // blocks.threads
    thread = int(wrong[block * blocks.threads :].argmax())
    at = block * blocks.threads + thread
    return LoweredFault(
        "beyond", ("src", "dst")[side], op, "gmem", thread, int(row[at]), int(reads[at]), size,
        str(blocks.at[block]).replace(" ", ""), extent=extent, overflows=bool(own & blocks.overflow),
    )  # fmt: skip


def _bound(blocks: Blocks, access: Recorded, side: int) -> tuple[int | str, bool]:
    """The bytes of the tensor that an access must stay in, or why they are not known.

    Then whether everything is known without numbers for dynamic extents.
    """
    second = access.second_space == "gmem" and side == 0 and access.second is not None
    own = access.second_provenance if second else access.provenance
    rests = [one for one in blocks.reasons.read(own | access.guard | access.counted) if one != OVERFLOW]
    if any(one != ("arguments", EXTENTS) for one in rests):
        return (LOADED if any(kind != "arguments" for kind, _ in rests) else RUN_TIME), False
    if blocks.rests == "arguments":
        return RUN_TIME, False
    size = blocks.sizes.get(object_of(access, side), RUN_TIME)
    return size, blocks.rests == "static" and not rests


def object_of(access: Recorded, side: int) -> int:
    """The object in global memory that one side of an access points into."""
    second = access.second_space == "gmem" and side == 0 and access.second is not None
    place = access.second if second else access.address
    return int(np.asarray(place).flat[0]) // GLOBAL_STEP
