"""Elements of a tensor that a kernel writes and leaves in part, by a predicate or by too small a grid.

Every block and every turn of a kernel with static extents is evaluated. What is left may be another kernel's
to write: it is told as a note, and only if threads are kept from these very elements by a predicate that
rests on threads and blocks alone, if several blocks write another element, or if at least half of the tensor
is written. Nothing is said where something is written in bulk, by atomics or through generic pointers, nor of
a tensor that is written by TMA and otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from layoutcheck.dsl.lowered import Kernel
from layoutcheck.dsl.lowered.blocks import Blocks
from layoutcheck.dsl.lowered.covered_boxes import TMA_STORE, Rows, stored_boxes
from layoutcheck.dsl.lowered.judged_blocks import object_of, spans
from layoutcheck.dsl.lowered.lowered_op import SINGLE, access_parts
from layoutcheck.dsl.lowered.record import BULK_COPY, Mask, Recorded
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.dsl.lowered.tensor_maps import tensor_maps
from layoutcheck.dsl.lowered.tensors import Tensor
from layoutcheck.sources.traced import LoweredFault

_MOST_THREADS = 1 << 17
_MOST_BYTES = 1 << 26  # of a tensor
_MOST_BOXED = 1 << 23  # of one that is written by TMA
_INTEGERS = ("i32", "i64")
_NOBODY = -1
_OTHER = (BULK_COPY, *SINGLE)  # ways to write of which the elements are not counted

Write: TypeAlias = "tuple[str, Recorded, Rows | None]"
"""A store with its tag; of TMA with the rows of its boxes."""


def left_out(kernel: Kernel, widest_bytes: int) -> dict[str, LoweredFault]:
    """By the tag of a store: that nothing writes some elements of its tensor, once for each tensor."""
    grid = kernel.grid
    every = {tag: [one for one in op.accesses if _writes(one)] for tag, op in kernel.lowered_ops.items()}
    written = [one for accesses in every.values() for one in accesses]
    tags = {tag for tag, accesses in every.items() if any(one.op in ("st", TMA_STORE) for one in accesses)}
    if grid is None or not tags or any(_unknown(one) for one in written):
        return {}
    blocks = grid.every_turn(tags, _MOST_THREADS)
    if isinstance(blocks, str) or not blocks.whole or blocks.unfinished:
        return {}
    launched, stores = grid.launch(None), dict[int, list[Write]]()
    maps = {} if launched is None else tensor_maps(launched[1])
    for tag in tags:
        for one in (one for one in blocks.accesses.get(tag, ()) if one.reached and _writes(one)):
            if one.op == TMA_STORE:
                map_ = maps.get(int(np.asarray(one.second).flat[0]))
                boxes = stored_boxes(blocks, one, map_)
                if map_ is None or boxes is None:
                    return {}
                stores.setdefault(map_.base // GLOBAL_STEP, []).append((tag, one, boxes))
            elif one.space == "gmem":
                stores.setdefault(object_of(one, 1), []).append((tag, one, None))
    tensors = grid.tensors(None)
    numbers = any("?" in kind or kind in _INTEGERS for kind in grid.types.get(kernel.name, []))
    found = (
        _left(blocks, tensors.get(base), ours, widest_bytes, "static" if numbers else "arguments")
        for base, ours in stores.items()
    )
    return dict(one for one in found if one is not None)


def stores_of(kernel: Kernel) -> set[str] | None:
    """The tags of what writes; None where something may write any element of any tensor."""
    every = {tag: [one for one in op.accesses if _writes(one)] for tag, op in kernel.lowered_ops.items()}
    written = [one for accesses in every.values() for one in accesses]
    unknown = any(_unknown(one) or one.op == TMA_STORE for one in written)
    return None if unknown else {tag for tag, accesses in every.items() if accesses}


def _writes(access: Recorded) -> bool:
    return access.op in ("st", TMA_STORE, *_OTHER) or "stmatrix" in access.op


def _unknown(access: Recorded) -> bool:
    """Whether it may write any element of any tensor."""
    return access.op in _OTHER or access.space == "generic"


def _left(
    blocks: Blocks, tensor: Tensor | None, stores: list[Write], widest: int, given: str
) -> tuple[str, LoweredFault] | None:
    """What is left of one tensor, with the tag of the store that leaves it.

    Places of TMA may rest on what is `given`: a tensor map is an argument whose address a run gives.
    """
    by_tma = {boxes is not None for _, _, boxes in stores}
    most = _MOST_BOXED if True in by_tma else _MOST_BYTES
    if tensor is None or tensor.bits < 8 or tensor.overlaps or tensor.span_bytes > most or len(by_tma) > 1:
        return None
    if any(blocks.reasons.worst(_rests(one)) not in ("static", given) for _, one, _ in stores):
        return None
    held: Mask = np.asarray(tensor.holds(np.arange(tensor.span_bytes)), bool)
    writer = np.full(held.size, _NOBODY)  # the block that writes each byte
    several = False
    for _, one, boxes in stores:
        for row, moved, thread in _rows(blocks, one, boxes, widest):
            at = row[moved > 0, None] + np.arange(int(moved.max(initial=0)))
            block = np.broadcast_to(thread[moved > 0, None] // blocks.threads, at.shape)
            inside = (at >= 0) & (at < held.size) & (at - row[moved > 0, None] < moved[moved > 0, None])
            at, block = at[inside], block[inside]
            several = several or bool(((writer[at] != _NOBODY) & (writer[at] != block)).any())
            writer[at] = block
            several = several or bool((writer[at] != block).any())
    left = held & (writer == _NOBODY)
    count, whole = int(left.sum()), int(held.sum())
    if not count or count == whole:
        return None
    kept = next(_kept(blocks, left, stores, widest), None)
    if kept is None and 2 * count > whole and not several:
        return None
    tag, one, thread, at = kept or (*stores[-1][:2], -1, int(np.flatnonzero(left)[0]))
    size = tensor.bits // 8
    where = "" if thread < 0 else str(blocks.at[thread // blocks.threads]).replace(" ", "")
    return tag, LoweredFault(
        "left", "dst", one.op, "gmem", max(0, thread) % blocks.threads, at, size, count // size, where,
        coordinate=whole // size, mode=indices(tensor, left), called=grid_of(blocks),
    )  # fmt: skip


def grid_of(blocks: Blocks) -> str:
    """The extents of the grid."""
    return "({},{},{})".format(*(max(at) + 1 for at in zip(*blocks.at, strict=True)))


def indices(tensor: Tensor, left: Mask) -> str:
    """Indices of modes of which nothing is written, as "indices 1000 to 1002 of mode 0"; "" for none."""
    rest = np.flatnonzero(left)[:: tensor.bits // 8] * 8 // tensor.bits
    modes = [one for one in zip(tensor.stride, tensor.shape, tensor.modes, strict=True) if one[0] > 0]
    whole, said = math.prod(extent for _, extent, _ in modes), []
    for step, extent, name in sorted(modes, reverse=True):
        index = np.minimum(rest // step, extent - 1)
        rest = rest - step * index
        every = np.flatnonzero(np.bincount(index, minlength=extent) * extent == whole)
        if every.size:
            first, last = int(every[0]), int(every[-1])
            which = f"indices {first} to {last}" if last > first else f"index {first}"
            more = f"{every.size} of " if every.size <= last - first else ""
            said.append(f"{more}{which} of mode {name}")
    return " and ".join(said)


def _kept(
    blocks: Blocks, left: Mask, stores: list[Write], widest: int
) -> Iterator[tuple[str, Recorded, int, int]]:
    """Threads that a predicate keeps from elements that nothing writes, with the byte where these begin."""
    for tag, one, boxes in stores:
        for row, moved, _ in _rows(blocks, one, boxes, widest) if boxes is None else ():
            inside = (moved == 0) & (row >= 0) & (row < left.size)
            wanted = inside & left[np.where(inside, row, 0)]
            if wanted.any():
                thread = int(wanted.argmax())
                yield tag, one, thread, int(row[thread])


def _rows(blocks: Blocks, access: Recorded, boxes: Rows | None, widest: int) -> Iterator[Rows]:
    """Where threads of all blocks begin to write, and how many bytes they write."""
    if boxes is not None:
        yield boxes
    for side, _, space, width, address in access_parts(access, widest):
        if side == 1 and space == "gmem":
            at, bytes_ = spans(blocks, access, width, address)
            yield Rows(at, bytes_, np.arange(at.size))


def _rests(access: Recorded) -> int:
    """What the places that are written rest on."""
    return access.guard | (access.second_provenance if access.op == TMA_STORE else access.provenance)
