"""Accesses that stay in their tensor's memory and leave a mode of it.

In a compact tensor the element behind a row's last is the next row's first: its offset tells no coordinates.
So a kernel is evaluated again with room between the modes of the host's tensors (`arguments.Spread`, and
`arguments.roomier` for static strides). There an offset tells in which mode it is too large, or below 0.

That counts where both evaluations agree: with these coordinates, the strides of the compact tensor give the
offsets there, some of them behind the first room. A kernel that takes a tensor for one of other strides
(flattened) is not judged. Nor is one for which the DSL makes no other types. One that takes rows together
(two of them a block from the first's beginning, a vector of short rows) goes on to the end of a row, in which
nothing else is: it overwrites nothing.

A write that leaves a mode overwrites what belongs to another coordinate. A read gets what does, which is
right where it is not used: it is told as not checked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered import Kernel
from layoutcheck.dsl.lowered.arguments import Extent, Numbers, Spread
from layoutcheck.dsl.lowered.blocks import Blocks
from layoutcheck.dsl.lowered.judged_blocks import Judged, judge_all, object_of, spans
from layoutcheck.dsl.lowered.lowered_op import access_parts
from layoutcheck.dsl.lowered.record import Mask, Recorded
from layoutcheck.dsl.lowered.tensors import Tensor
from layoutcheck.sources.traced import LoweredFault

_MOST_BYTES = 1 << 42  # of a tensor with room between its modes: an object has as much (`spaces`)


@dataclass(frozen=True, slots=True)
class Part:
    """Modes that lie together: what follows has room before it. Strides and `span` are in elements of `bits`.

    A coordinate in it counts `stride` elements, in the compact tensor `compact`; `count` is its extent.
    """

    bits: int
    name: str
    stride: int
    compact: int
    count: int
    span: int


@dataclass(frozen=True, slots=True)
class Stray:
    """Who leaves a part, the number of that part, the coordinate in it; where each begins in every part.

    `within` is who begins or ends inside of all parts, None where the view tells no coordinates.
    """

    wrong: Mask
    which: IntArray
    coordinate: IntArray
    at: dict[int, IntArray]
    within: Mask | None


# Where an access begins, how many bytes it moves, who strays.
Moved: TypeAlias = tuple[IntArray, IntArray, Stray]
# The first fault of each access of an operation, and all that it moves; by side and object.
Strays: TypeAlias = tuple[list[tuple[tuple[int, int], LoweredFault]], dict[tuple[int, int], list[Moved]]]


def judged_in_modes(
    kernel: Kernel, tags: Collection[str], extent: int | None, widest_bytes: int, numbers: Extent = None,
    counted: bool = False,
) -> dict[str, Judged | str]:  # fmt: skip
    """What the blocks at the grid's edges do under `tags`, with what leaves a mode.

    `numbers` are the extents, where they are not all `extent`. Those of a call may be of strides that tell no
    modes (overlapping, or with gaps): there what leaves a mode and stays in the memory is not told. With
    `counted` what leaves the memory is evaluated as well, so that it is known what stays within the modes.
    """
    assert kernel.grid is not None
    grid, numbers = kernel.grid, extent if numbers is None else numbers
    blocks = grid.blocks(tags, numbers)
    found = judge_all(blocks, tags, extent, widest_bytes)
    if isinstance(blocks, str) or isinstance(numbers, Spread):
        return found
    if isinstance(numbers, Numbers) and not numbers.extents:  # a call gives it no more than its types
        return found
    was, apart = grid.tensors(numbers), None if numbers is None else Spread(numbers)
    wide = [base for base, one in was.items() if len(one.shape) > 1]
    left = _may_leave(found, blocks, found.keys(), wide, counted)
    roomy = kernel.roomy() if left else None
    if roomy is None and apart is None:
        return found
    grid = roomy or grid
    now = grid.tensors(apart)
    parted = {base: parts(was[base], now[base]) for base in was.keys() & now.keys()}
    parted = {base: each for base, each in parted.items() if len(each) > 1}
    left = _may_leave(found, blocks, left, parted, counted)
    if not left or any(one.span_bytes > _MOST_BYTES for one in now.values()):
        return found
    there = grid.at(left, apart, blocks.at)
    if isinstance(there, str) or there.at != blocks.at or there.threads != blocks.threads:
        return found
    strays = {
        tag: _strays(blocks, there, tag, parted, widest_bytes, 0 if one.sure else extent or 0)
        for tag in left - there.unfinished.keys()
        if isinstance(one := found[tag], Judged)
    }
    _tell(found, strays, parted, blocks.sizes)
    return found


def _tell(
    found: dict[str, Judged | str], strays: dict[str, Strays], parted: dict[int, list[Part]],
    sizes: dict[int, int],
) -> None:  # fmt: skip
    """Add what leaves a mode to what is judged: a read as a stray, a write as a fault."""
    every: defaultdict[tuple[int, int], list[Moved]] = defaultdict(list)  # of all that stay in the memory
    for tag, (_, moved) in strays.items():
        one = found[tag]
        assert isinstance(one, Judged)
        one.within = _within(one.inside, moved, sizes)
        for key, some in moved.items():
            every[key] += some if not one.faults else []
    for tag, (faults, moved) in strays.items():
        one = found[tag]
        assert isinstance(one, Judged)
        if one.faults:
            continue
        together = {key: _together(parted[key[1]], moved[key], every[key]) for key in dict(faults)}
        for key, fault in faults:
            if together[key]:
                continue
            if fault.side == "src":
                one.strays = one.strays or fault
            elif not one.faults:
                one.faults.append(fault)
                one.left[key[1]] = sizes[key[1]]


def _within(inside: int, moved: dict[tuple[int, int], list[Moved]], sizes: dict[int, int]) -> int:
    """The bytes that begin or end within the modes, of an operation with `inside` in memory; -1: unknown."""
    for (_, base), some in moved.items():
        for row, reads, told in some:
            if told.within is None:
                return -1
            stays = (row >= 0) & (row + reads <= sizes[base])
            inside += int(reads[told.within].sum() - reads[stays].sum())
    return inside if moved else -1


def _may_leave(
    found: dict[str, Judged | str], blocks: Blocks, tags: Collection[str], parted: Collection[int],
    counted: bool,
) -> set[str]:  # fmt: skip
    """The tags of operations on these objects that may leave a mode of theirs and stay in memory.

    With `counted` those that leave the memory, too.
    """
    judged = (
        (tag, one) for tag in tags if isinstance(one := found[tag], Judged) and (counted or not one.faults)
    )
    return {tag for tag, one in judged if _open(one, blocks.accesses[tag], parted)}


def _open(one: Judged, accesses: Sequence[Recorded], parted: Collection[int]) -> bool:
    """Whether an operation stays in memory by a predicate, or before its end, in a tensor of several parts.

    Another that leaves a mode leaves the memory as well, in the last row.
    """
    reached = [access for access in accesses if access.reached]
    if not any(object_of(access, side) in parted for access in reached for side in (0, 1)):
        return False
    return (
        bool(one.faults)
        or one.short
        or any(a.active is not None or (a.op.startswith("cp.async") and a.coordinates) for a in reached)
    )


def parts(was: Tensor, now: Tensor) -> list[Part]:
    """The parts of a tensor, compact and with room, innermost first; none where offsets tell nothing.

    A mode behind a gap is no part of its own: what leaves the one inside it may stay in the gap.
    """
    found: list[Part] = []
    behind = 1  # where the next mode begins in the compact tensor, if there is no gap
    reach, leaves = 1, sorted(range(len(now.shape)), key=lambda i: now.stride[i])
    for i in leaves:
        extent, stride, compact = now.shape[i], now.stride[i], was.stride[i]
        if extent == 1:
            continue
        if stride < 1 or extent != was.shape[i]:
            return []
        last = found[-1] if found else None
        close, behind = compact == behind, compact * extent
        if last is None or (close and stride >= 2 * reach):
            found.append(Part(now.bits, now.modes[i], stride, compact, extent, (extent - 1) * stride + 1))
        elif stride % last.stride or stride // last.stride * last.compact != compact:
            return []
        else:
            span = last.span + (extent - 1) * stride
            count = (span - 1) // last.stride + 1
            found[-1] = Part(
                now.bits, f"{last.name} and {now.modes[i]}", last.stride, last.compact, count, span
            )
        reach += (extent - 1) * stride
    return found


def coordinates(found: Sequence[Part], offset: IntArray) -> list[IntArray]:
    """In each part, outermost first, the coordinate of an element that strays by half of the room at most."""
    told = []
    rest = offset
    inner = [1, *(sum(one.span - 1 for one in found[: i + 1]) + 1 for i in range(len(found) - 1))]
    for one, reach in zip(reversed(found), reversed(inner), strict=True):
        room = (one.stride - reach) // 2 if one is not found[0] else 0
        told.append((rest + room) // one.stride)
        rest = rest - told[-1] * one.stride
    return told


def _strays(
    blocks: Blocks, there: Blocks, tag: str, parted: dict[int, list[Part]], widest: int, extent: int
) -> Strays:
    """The first fault of each access that leaves a mode, with its side and object; what is moved on each.

    None where the evaluations do not agree.
    """
    found: list[tuple[tuple[int, int], LoweredFault]] = []
    moved: dict[tuple[int, int], list[Moved]] = {}
    pairs = [[one for one in each.accesses.get(tag, ()) if one.reached] for each in (blocks, there)]
    if len(pairs[0]) != len(pairs[1]):
        return [], {}
    for one, other in zip(*pairs, strict=True):
        both = [access_parts(each, widest) for each in (one, other)]
        if [part[:4] for part in both[0]] != [part[:4] for part in both[1]]:
            return [], {}
        for (side, op, space, width, address), (*_, again) in zip(*both, strict=True):
            base = object_of(one, side)
            if space != "gmem" or base not in parted or object_of(other, side) != base:
                continue
            if (other.provenance | other.second_provenance) & there.overflow:
                return [], {}
            row, reads = spans(blocks, one, width, address)
            spread, same = spans(there, other, width, again)
            told = _outside(parted[base], row, spread, reads)
            if told is None or not np.array_equal(reads, same):
                return [], {}
            moved.setdefault((side, base), []).append((row, reads, told))
            wrong, which, coordinate = told.wrong, told.which, told.coordinate
            if not wrong.any():
                continue
            block = int(np.flatnonzero(wrong)[-1]) // blocks.threads
            at = block * blocks.threads + int(wrong[block * blocks.threads :].argmax())
            part = parted[base][which[at]]
            fault = LoweredFault(
                "mode", ("src", "dst")[side], op, "gmem", at % blocks.threads, int(row[at]), int(reads[at]),
                part.count, str(blocks.at[block]).replace(" ", ""), extent=extent, mode=part.name,
                coordinate=int(coordinate[at]),
            )  # fmt: skip
            found.append(((side, base), fault))
    return found, moved


def _together(found: Sequence[Part], own: Sequence[Moved], every: Sequence[Moved]) -> bool:
    """Whether what leaves a row goes on to the end of another, in which nothing begins by coordinates.

    The end is that of all operations (`every`): one may leave a tail to another.
    """
    which = {n for *_, told in own for n in np.unique(told.which[told.wrong]).tolist()}
    below = any((told.wrong & (told.coordinate < 0)).any() for *_, told in own)
    if below or len(which) != 1:
        return False
    [i] = which
    begin, end, row = _ranges(found, i, own)
    if ((np.maximum.accumulate(end)[:-1] > begin[1:]) & (row[1:] != row[:-1])).any():
        return False
    length = found[i + 1].compact
    strayed = np.unique(row[end - row > length])
    _, end, row = _ranges(found, i, every)
    rows, of_row = np.unique(row, return_inverse=True)
    last = np.zeros_like(rows)
    np.maximum.at(last, of_row, end - row)
    return not (last[np.isin(rows, strayed)] % length).any()


def _ranges(found: Sequence[Part], i: int, moved: Sequence[Moved]) -> IntArray:
    """Where each begins and ends, and where the row of part `i` begins that it does by its coordinates."""
    bits = found[0].bits
    every = [
        np.stack([
            at * 8 // bits,
            ((at + reads) * 8 - 1) // bits + 1,
            sum((c * found[j].compact for j, c in told.at.items() if j > i), np.zeros_like(at)),
        ])[:, reads > 0]
        for at, reads, told in moved
    ]  # fmt: skip
    return np.unique(np.concatenate(every, axis=1), axis=1)


def _outside(found: Sequence[Part], row: IntArray, spread: IntArray, reads: IntArray) -> Stray | None:
    """Who leaves a part. None where the compact tensor's offsets are not those of the coordinates."""
    active = reads > 0
    wrong, within, by_modes = np.zeros(row.shape, bool), np.zeros(row.shape, bool), True
    which, coordinate = np.zeros(row.shape, np.int64), np.zeros(row.shape, np.int64)
    begins: dict[int, IntArray] = {}
    for last in (np.zeros_like(reads), reads - 1):
        here, there = ((each + last) * 8 // found[0].bits for each in (row, spread))
        told = dict(zip(range(len(found) - 1, -1, -1), coordinates(found, there), strict=True))
        begins = begins or told
        back = sum((c * found[i].compact for i, c in told.items()), np.zeros_like(here))
        if (active & (back != here)).any():
            return None
        inside = active.copy()
        for i, c in told.items():
            inside &= (c >= 0) & (c < found[i].count)
        within |= inside
        for i, c in told.items() if (inside != active).any() else ():  # somebody strays
            # A view that is not made of the tensor's strides (flattened) has its first outer index alone.
            by_strides = i + 1 < len(found) and bool(told[i + 1][active].any())
            large = active & (c >= found[i].count)
            by_modes = by_modes and (by_strides or i + 1 == len(found) or not large.any())
            beyond = ((active & (c < 0)) | (large & by_strides)) & ~wrong
            which[beyond], coordinate[beyond] = i, c[beyond]
            wrong |= beyond
    return Stray(wrong, which, coordinate, begins, within if by_modes else None)
