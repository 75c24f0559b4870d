"""Elements that a kernel reads twice while it reads others never, block by block and turn by turn.

A kernel that reads as many elements as a tensor has is meant to read each of them once. If some are read
twice, others are left: a tile is fetched in the place of another, by an index of the wrong block or turn.
Which order is meant only its author knows: it is a note. Boxes of TMA that lie beyond the tensor count as
read. So is a tensor that is read whole where the kernel is given another one, alike, and uses none of it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered.blocks import Blocks
from layoutcheck.dsl.lowered.instructions import written_in_ptx
from layoutcheck.dsl.lowered.judged_blocks import object_of, spans
from layoutcheck.dsl.lowered.lowered_op import global_parts
from layoutcheck.dsl.lowered.record import Mask, Recorded
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP, MIDDLE
from layoutcheck.dsl.lowered.tensors import Tensor
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.traced import LoweredFault

_MOST_BYTES = 1 << 26  # of a tensor
_MOST_BOXES = 1 << 14
_LOAD = "tma.load"
Read = tuple[str, Recorded]  # with its tag


@dataclass(slots=True)
class _Counts:
    """How often each byte is read, bytes `beyond` the tensor, and the `most` by one statement, by its tag."""

    times: IntArray
    beyond: int = 0
    most: dict[str, int] = field(default_factory=dict)


def is_read(access: Recorded) -> bool:
    """Whether an access reads global memory."""
    second = access.op.startswith("cp.async") or access.second_space == "gmem"
    return access.op == _LOAD or (access.second_space == "gmem" if second else _plain(access))


def _plain(access: Recorded) -> bool:
    return access.op in ("ld", "load.ext") and access.space in ("gmem", "generic")


def read_twice(
    kernel: Operation, blocks: Blocks, tensors: dict[int, Tensor], maps: dict[int, Descriptor | None],
    given: set[int], widest: int,
) -> Iterator[tuple[str, LoweredFault]]:  # fmt: skip
    """By the tag of a load: the tensors of which it reads elements twice while nothing reads others.

    `given` are the objects of the kernel's arguments that none of its accesses points into.
    """
    if any(isinstance(written_in_ptx(op), str) for op in kernel.walk()):
        return
    every: dict[int, list[Read]] = defaultdict(list)
    for tag, accesses in blocks.accesses.items():
        for one in filter(is_read, accesses):
            if not one.reached:
                continue
            if one.space == "generic":
                return
            every[read_object(one, maps)].append((tag, one))
    for base, reads in () if 0 in every else every.items():
        tensor = tensors.get(base)
        rests = [_rests(one) | one.guard | one.counted for _, one in reads]
        if tensor is None or any(blocks.reasons.worst(rest) != "static" for rest in rests):
            continue
        if {tag for tag, _ in reads} & blocks.unfinished.keys():
            continue
        if tensor.bits >= 8 and not tensor.overlaps and tensor.span_bytes <= _MOST_BYTES:
            alike = sorted(other for other in given if tensors.get(other) == tensor)
            yield from _twice(blocks, tensor, reads, maps, alike, widest)


def read_object(access: Recorded, maps: dict[int, Descriptor | None]) -> int:
    """The object in global memory that an access reads, by its tensor map or its address; 0 if not known."""
    map_ = _map(access, maps)
    return map_.base // GLOBAL_STEP if map_ is not None else 0 if _boxed(access) else object_of(access, 0)


def _boxed(access: Recorded) -> bool:
    return access.second_space == "descriptor"


def _rests(access: Recorded) -> int:
    """What the addresses of a read rest on: of a box its coordinates alone do."""
    return 0 if access.op == _LOAD else access.provenance | access.second_provenance


def _map(access: Recorded, maps: dict[int, Descriptor | None]) -> Descriptor | None:
    places = np.unique(np.asarray(access.second)) if _boxed(access) else np.zeros(0)
    return maps.get(int(places[0])) if places.size == 1 else None


def _twice(
    blocks: Blocks,
    tensor: Tensor,
    reads: list[Read],
    maps: dict[int, Descriptor | None],
    alike: list[int],
    widest: int,
) -> Iterator[tuple[str, LoweredFault]]:
    held: Mask = np.asarray(tensor.holds(np.arange(tensor.span_bytes)), bool)
    counts = _Counts(np.zeros(held.size, np.int64))
    for tag in dict.fromkeys(tag for tag, _ in reads):
        own = np.zeros(held.size, np.int64)
        for one in (one for of, one in reads if of == tag):
            map_ = _map(one, maps)
            found = _of_boxes(blocks, one, map_, own) if map_ else _of_threads(blocks, one, widest, own)
            if found is None:
                return
            counts.beyond += found
        counts.times += own
        counts.most[tag] = int(own.max(initial=0))
    if counts.times[~held].any():
        return
    read, size = counts.times[held], tensor.bits // 8
    tag = max(counts.most, key=counts.most.__getitem__)
    access = next(one for of, one in reads if of == tag)
    if alike and read.min() == read.max() and not counts.beyond:
        yield tag, LoweredFault("unused", "src", access.op, "gmem", 0, 0, size, alike[0])
    if read.all() or not _meant(tensor, counts, read):
        return
    left = int(np.flatnonzero(held & (counts.times == 0))[0])
    yield tag, LoweredFault(
        "unread", "src", access.op, "gmem", 0, left, size, int((read == 0).sum()) // size,
        coordinate=read.size // size, called=str(tensor.coordinates(left)).replace(",)", ")"),
        extent=int((read > 1).sum()) // size, base=counts.beyond // size,
        align=(int(read.sum()) + counts.beyond) // read.size,
    )  # fmt: skip


def _meant(tensor: Tensor, counts: _Counts, read: IntArray) -> bool:
    """Whether all elements, or each so many times, seem to be meant, where some are never read.

    Several statements that pass over a part, each once, are meant for that part. A statement that reads a
    part often may look up a table that has more rows than are used, or take every second element.
    """
    often, rest = divmod(int(read.sum()) + counts.beyond, read.size)
    again = read[read > 0]
    if rest or not often or not again.size:
        return False
    if often == 1:
        return bool(counts.beyond or again.min() != again.max() or max(counts.most.values()) > 1)
    modes = [(step, extent) for step, extent in zip(tensor.stride, tensor.shape, strict=True) if extent > 1]
    inner = sorted(modes, reverse=True)[1:]
    if math.prod(tensor.shape) * tensor.bits // 8 != read.size or counts.beyond or 0 in tensor.stride:
        return False
    at = np.flatnonzero(counts.times > 0) * 8 // tensor.bits
    for step, extent in inner:
        along = np.unique(at // step % extent)
        part = read.size // extent * along.size
        if along.size < extent and along[-1] == along.size - 1 and again.size == part:
            return max(counts.most.values()) > 1
    return False


def _of_threads(blocks: Blocks, access: Recorded, widest: int, times: IntArray) -> int | None:
    """Count what each thread reads; None where it leaves the tensor."""
    for side, _, space, width, address in global_parts(access, widest):
        if side or space != "gmem":
            continue
        row, moved = spans(blocks, access, width, address)
        if ((moved > 0) & ((row < 0) | (row + moved > times.size))).any():
            return None
        for bytes_ in np.unique(moved[moved > 0]).tolist():
            begins = np.bincount(row[moved == bytes_], minlength=times.size)
            for k in range(bytes_):
                times[k:] += begins[: times.size - k]
    return 0


def _of_boxes(blocks: Blocks, access: Recorded, map_: Descriptor, times: IntArray) -> int | None:
    """Count what boxes read, and return the bytes of those that lie beyond the tensor; None if not known."""
    size, rank = map_.element_bits // 8, len(map_.dims)
    steps = (size, *map_.strides_bytes)
    plain = map_.corners is None and not map_.interleave and set(map_.element_strides) == {1}
    if not size or not plain or len(access.coordinates) != rank or 0 in steps:
        return None
    total = blocks.threads * len(blocks.at)
    on = np.ones(total, bool) if access.active is None else access.active
    at = np.stack([np.broadcast_to(np.asarray(c, np.int64), (total,))[on] for c in access.coordinates], 1)
    if len(at) > _MOST_BOXES:
        return None
    base, beyond = map_.base % GLOBAL_STEP - MIDDLE, 0
    for corner in at.tolist():
        ends = [
            (max(0, c), min(c + box, dim)) for c, box, dim in zip(corner, map_.box, map_.dims, strict=True)
        ]
        if any(first >= last for first, last in ends):
            beyond += map_.box_bytes
            continue
        offsets = np.array([base])
        for (first, last), step in zip(ends, steps, strict=True):
            offsets = (offsets[:, None] + np.arange(first, last) * step).ravel()
        if offsets.min() < 0 or offsets.max() + size > times.size:
            return None
        np.add.at(times, (offsets[:, None] + np.arange(size)).ravel(), 1)
    return beyond
