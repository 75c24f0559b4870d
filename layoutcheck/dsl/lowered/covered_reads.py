"""Elements of a tensor that a kernel leaves unread: the last, or the first, tile of a loop, in every block.

Every block and every turn of a kernel with static extents is evaluated. It is told as a note if one tile is
left along one mode of a tensor of three tiles or more, and a loop goes over that mode by this tile. A kernel
that multiplies matrices is left to `provenance`; nothing is said of a tensor that the kernel writes as well,
nor where something is read by TMA, in bulk, by atomics or through generic pointers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from layoutcheck.dsl.lowered import Kernel
from layoutcheck.dsl.lowered.blocks import Blocks
from layoutcheck.dsl.lowered.covered import grid_of, indices
from layoutcheck.dsl.lowered.judged_blocks import object_of, spans
from layoutcheck.dsl.lowered.lowered_op import SINGLE, global_parts
from layoutcheck.dsl.lowered.record import BULK_COPY, Mask, Recorded
from layoutcheck.dsl.lowered.tensors import Tensor
from layoutcheck.sources.traced import LoweredFault

_MOST_THREADS = 1 << 17
_MOST_BYTES = 1 << 24  # of a tensor
_LEAST_TILES = 3
_OTHER = ("tma.load", BULK_COPY, *SINGLE)  # ways to read of which the elements are not counted


def unread(kernel: Kernel, widest_bytes: int) -> dict[str, LoweredFault]:
    """By the tag of a load: that nothing reads a tile of its tensor, once for each tensor."""
    grid, every = kernel.grid, [one for op in kernel.lowered_ops.values() for one in op.accesses]
    reads = [one for one in every if _reads(one)]
    if grid is None or not any(one.iterations for one in reads):
        return {}
    if any(one.op in _OTHER or one.space == "generic" for one in every):
        return {}
    if any("mma" in op.name for op in grid.kernel.walk()):
        return {}
    tags = {one.tag for one in reads}
    blocks = grid.every_turn(tags, _MOST_THREADS)
    if isinstance(blocks, str) or not blocks.whole or blocks.unfinished:
        return {}
    loads: dict[int, list[Recorded]] = {}
    for one in (one for tag in tags for one in blocks.accesses.get(tag, ()) if one.reached and _reads(one)):
        loads.setdefault(object_of(one, 0), []).append(one)
    written = {object_of(one, 1) for one in every if one.op == "st" and one.space == "gmem"}
    tensors = grid.tensors(None)
    found = (
        _unread(blocks, tensors.get(base), ours, widest_bytes)
        for base, ours in loads.items() if base not in written
    )  # fmt: skip
    return dict(one for one in found if one is not None)


def _reads(access: Recorded) -> bool:
    """Whether it reads global memory."""
    return (access.op == "ld" and access.space == "gmem") or access.second_space == "gmem"


def _unread(
    blocks: Blocks, tensor: Tensor | None, loads: list[Recorded], widest: int
) -> tuple[str, LoweredFault] | None:
    """The tile that is left of one tensor, with the tag of a load that goes over its mode."""
    if tensor is None or tensor.bits < 8 or tensor.overlaps or tensor.span_bytes > _MOST_BYTES:
        return None
    rests = (one.provenance | one.second_provenance | one.guard | one.counted for one in loads)
    if any(blocks.reasons.worst(one) != "static" for one in rests):
        return None
    left: Mask = np.asarray(tensor.holds(np.arange(tensor.span_bytes)), bool)
    whole = int(left.sum())
    for one in loads:
        for row, moved in _rows(blocks, one, widest):
            at = row[moved > 0, None] + np.arange(int(moved.max(initial=0)))
            left[at[(at >= 0) & (at < left.size)]] = False
    count = int(left.sum())
    steps = _tile(tensor, left, count, whole) if 0 < count <= whole // _LEAST_TILES else None
    tag = (
        None
        if steps is None
        else next((tag for tag, by in _advances(blocks, loads, widest) if by == steps), None)
    )
    if tag is None:
        return None
    size = tensor.bits // 8
    return tag, LoweredFault(
        "unread", "src", "ld", "gmem", 0, int(np.flatnonzero(left)[0]), size, count // size,
        coordinate=whole // size, mode=indices(tensor, left), called=grid_of(blocks),
    )  # fmt: skip


def _tile(tensor: Tensor, left: Mask, count: int, whole: int) -> int | None:
    """The bytes from one tile to the next, where what is left is the first or the last one along a mode."""
    size = tensor.bits // 8
    at = np.flatnonzero(left)[::size] // size
    found = None
    for step, extent in sorted(zip(tensor.stride, tensor.shape, strict=True), reverse=True):
        if step <= 0:
            continue
        index, at = np.minimum(at // step, extent - 1), at - step * np.minimum(at // step, extent - 1)
        here = np.unique(index)
        if len(here) * (whole // extent) == count and here[-1] - here[0] + 1 == len(here):
            ends = here[0] == 0 or here[-1] == extent - 1
            found = len(here) * step * size if ends and extent % len(here) == 0 else None
    return found


def _advances(blocks: Blocks, loads: Iterable[Recorded], widest: int) -> Iterator[tuple[str, int]]:
    """By the tag of a load: how far it goes from one turn of its loop to the next, in the first thread."""
    last: dict[tuple[str, tuple[int, ...]], tuple[int, int]] = {}
    for one in loads:
        for row, _ in list(_rows(blocks, one, widest))[:1] if one.iterations else ():
            key, turn, at = (one.tag, one.iterations[:-1]), one.iterations[-1], int(row[0])
            before = last.get(key)
            if before is not None and turn == before[0] + 1:
                yield one.tag, at - before[1]
            if before is None or turn != before[0]:
                last[key] = turn, at


def _rows(blocks: Blocks, access: Recorded, widest: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Where each thread of all blocks begins to read, and how many bytes it reads."""
    for side, _, space, width, address in global_parts(access, widest):
        if side == 0 and space == "gmem":
            yield spans(blocks, access, width, address)
