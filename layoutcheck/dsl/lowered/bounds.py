"""Accesses outside of the tensors that a kernel is given.

Tensors are judged in the blocks at the edges of the grid, and only where everything is known: the tensor's
type says its extents and strides, the grid is the host's, and neither the address nor the predicate rests on
more than threads, blocks and loop counters. A missing predicate, one of another mode or one for several
elements is told by block, thread and byte.

Dynamic extents are given numbers: one for all of them, a multiple of any tile; then one promise more, and
one less. An access that stays inside for all three is checked. One that leaves its tensor with a tail rests
on the caller, who has to give multiples of the tile; which multiple is found by trying. One that leaves it
with whole tiles is told if it leaves larger tensors and smaller ones, too: else extents that must differ (a
list of n + 1 offsets) were made equal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered import Kernel
from layoutcheck.dsl.lowered.arguments import EXTENTS, Unequal
from layoutcheck.dsl.lowered.grid import OVERFLOW, RUN_TIME, Blocks
from layoutcheck.dsl.lowered.lowered_op import LoweredOp, access_parts
from layoutcheck.dsl.lowered.record import Mask, Recorded
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.sources.traced import TOO_MANY, LoweredFault

RELATED = "how the dynamic extents relate is not known"
LOADED = "addresses or predicates known at run time"
NOT_MET = "the blocks that were evaluated do not come by"
_MOST_MULTIPLE = 1024
_MOST_BYTES = 1 << 31  # of a tensor that is made larger than the others
_NEAR = 4  # multiples beyond a tensor of 2^31 elements, among which the first is that overflows
_INTEGERS = (1 << 14, 1 << 20, (1 << 31) - 1)  # given to integer arguments to see if offsets overflow
WRAPS = "its 32-bit offset overflows if all integer arguments are {} or more"
REPAIR = "with a dynamic pitch of 64 bits (cute.sym_int64), or coordinates of cutlass.Int64, they are not"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Accesses to tensors, by tag.

    `faults` leave one; `unchecked` are not judged, for the reason given. Those in `multiple` stay inside if
    every dynamic extent is a multiple of that number (0: no such number was found), and not with the fault.
    The 32-bit offsets of those in `overflows` overflow if every dynamic extent is that number, or larger.
    `modes` are the multiples of those in `multiple` mode by mode, where that is known. `inside` counts the
    bytes of accesses that stay in their tensor, all and different ones, by tag and by what was evaluated.
    """

    faults: dict[str, list[LoweredFault]] = field(default_factory=dict)
    unchecked: dict[str, str] = field(default_factory=dict)
    multiple: dict[str, tuple[int, LoweredFault]] = field(default_factory=dict)
    overflows: dict[str, int] = field(default_factory=dict)
    modes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    inside: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)


def tensor_bounds(kernel: Kernel, widest_bytes: int) -> Bounds:
    """The bounds of everything that a kernel does in global memory.

    TMA keeps to its tensor by itself: its instructions are not looked at here.
    """
    found = Bounds()
    tags = set()
    for tag, op in kernel.lowered_ops.items():
        rests = _rests(op, widest_bytes)
        if rests in ("static", "arguments"):
            tags.add(tag)
        elif rests:
            found.unchecked[tag] = LOADED
    if not tags:
        return found
    if kernel.grid is None:
        return Bounds(unchecked=found.unchecked | dict.fromkeys(tags, RUN_TIME))
    promise = kernel.grid.promise()
    first = _judged(kernel, tags, promise[1] if promise else None, widest_bytes)
    tails: dict[str, LoweredFault] = {}
    for tag, one in first.items():
        if isinstance(one, str):
            found.unchecked[tag] = one
            continue
        found.inside[tag] = {one.run: one.inside}
        if one.sure:
            found.faults[tag] = one.faults
        elif one.faults:
            found.unchecked[tag] = RELATED
    always = _always(kernel, first, promise[1], widest_bytes) if promise else {}
    for tag in always:
        found.faults[tag] = always[tag]
        del found.unchecked[tag]
    unsaid = {tag for tag in tags if found.unchecked.get(tag) == RUN_TIME}
    least = _least_integer(kernel, unsaid, promise[1] if promise else None, widest_bytes) if unsaid else {}
    found.unchecked.update((tag, f"{RUN_TIME}; {WRAPS.format(n)}") for tag, n in least.items())
    open_ = {tag for tag, one in first.items() if isinstance(one, Judged) and not one.sure and not one.faults}
    if promise is None or not open_:
        return found
    quantum, whole = promise
    for extent in (whole + quantum, whole - quantum):
        for tag, one in _judged(kernel, open_, extent, widest_bytes).items():
            if isinstance(one, str):
                found.unchecked.setdefault(tag, one)
                continue
            found.inside[tag][one.run] = one.inside
            if one.faults and tag not in found.unchecked:
                tails.setdefault(tag, one.faults[0])
    multiple = 2 * quantum
    left = set(tails)
    while left and multiple <= min(whole, _MOST_MULTIPLE):
        again = _judged(kernel, left, whole + multiple, widest_bytes)
        right = {tag for tag, one in again.items() if isinstance(one, Judged) and not one.faults}
        found.multiple.update((tag, (multiple, tails[tag])) for tag in right)
        left -= right
        multiple *= 2
    found.multiple.update((tag, (0, tails[tag])) for tag in left)
    found.modes.update(_by_mode(kernel, found.multiple, quantum, whole, widest_bytes))
    for extent in kernel.grid.many(whole):
        left = open_ - found.unchecked.keys() - found.overflows.keys()
        some = _overflowing(kernel, left, extent, widest_bytes)
        if some:
            near = [one for one in kernel.grid.many(quantum) if one <= extent]
            found.overflows.update(_least_extent(kernel, some, quantum, near[-1], extent, widest_bytes))
    return found


def _always(
    kernel: Kernel, first: Mapping[str, Judged | str], whole: int, widest_bytes: int
) -> dict[str, list[LoweredFault]]:
    """The faults of operations that leave their tensor, by tag, however large it is beside the others.

    `first` is what they do if all dynamic extents are alike.
    """
    assert kernel.grid is not None
    grid = kernel.grid
    found: dict[str, list[LoweredFault]] = {}

    def leaves(tag: str, base: int, own: int, others: int) -> tuple[int, list[LoweredFault]]:
        """The bytes of the tensor that an operation leaves with these extents, 0 if it leaves none; how."""
        blocks = grid.blocks({tag}, Unequal(base - 1, own * whole, others * whole))
        again = _judge_all(blocks, {tag}, whole, widest_bytes)[tag]
        if isinstance(again, str) or any(fault.overflows for fault in again.faults):
            return 0, []
        return again.left.get(base, 0), again.faults

    for tag, one in first.items():
        if isinstance(one, str) or one.sure or not one.faults or any(f.overflows for f in one.faults):
            continue
        for base, size in one.left.items():
            twice, told = leaves(tag, base, 2, 1)
            modes = (twice // max(1, size)).bit_length() - 1  # so many of its extents are dynamic
            most = (_MOST_BYTES // max(1, size)).bit_length() - 1
            if not twice or modes < 1 or not leaves(tag, base, 1, 2)[0]:
                break
            if most > modes:
                told = leaves(tag, base, 1 << most // modes, 1)[1]
            if not told:
                break
            found.setdefault(tag, []).extend(told)
        else:
            continue
        found.pop(tag, None)
    return found


def _by_mode(
    kernel: Kernel, multiple: Mapping[str, tuple[int, LoweredFault]], quantum: int, whole: int, widest: int
) -> dict[str, tuple[int, ...]]:
    """The least multiple that the extents of each mode need while those of the others are whole, by tag.

    Only of what stays inside if all modes keep their multiple at once; 1 where the type promises enough. The
    same mode of all tensors gets the same number; where tensors differ in rank nothing is known.
    """
    assert kernel.grid is not None
    grid, rank = kernel.grid, kernel.grid.rank()
    tags = {tag for tag, (number, _) in multiple.items() if number > quantum}
    if rank < 2 or not tags:
        return {}

    def inside(left: set[str], numbers: Sequence[int]) -> set[str]:
        blocks = grid.blocks(left, tuple(numbers))
        judged = _judge_all(blocks, left, max(numbers), widest).items()
        return {tag for tag, one in judged if isinstance(one, Judged) and not one.faults}

    found: dict[str, list[int]] = {tag: [] for tag in tags}
    for mode in range(rank):
        left, number = set(tags), quantum
        while left and number <= min(whole, _MOST_MULTIPLE):
            tails = [[whole + sign * number * (i == mode) for i in range(rank)] for sign in (1, -1)]
            right = left & inside(left, tails[0])
            right &= inside(right, tails[1]) if right else right
            for tag in right:
                found[tag].append(number)
            left -= right
            number *= 2
        tags -= left
    checked: dict[str, tuple[int, ...]] = {}
    for numbers in {tuple(found[tag]) for tag in tags}:
        alike = {tag for tag in tags if tuple(found[tag]) == numbers}
        right = inside(alike, [whole + number for number in numbers])
        checked.update(dict.fromkeys(right, tuple(n if n > quantum else 1 for n in numbers)))
    return checked


def _overflowing(kernel: Kernel, tags: Collection[str], extent: int, widest_bytes: int) -> set[str]:
    """Those of `tags` whose 32-bit offsets overflow and leave their tensor with this extent."""
    judged = _judged(kernel, tags, extent, widest_bytes).items()
    return {tag for tag, one in judged if isinstance(one, Judged) and any(f.overflows for f in one.faults)}


def _least_extent(
    kernel: Kernel, tags: set[str], quantum: int, guess: int, high: int, widest_bytes: int
) -> dict[str, int]:
    """The least multiple of `quantum` that overflows, by tag: near `guess`, or `high`, with which all do."""
    found = dict.fromkeys(tags, high)
    left, extent = set(tags), max(quantum, guess - 2 * quantum)
    while left and extent <= min(high, guess + _NEAR * quantum):
        for tag in _overflowing(kernel, left, extent, widest_bytes):
            found[tag] = extent
            left.discard(tag)
        extent += quantum
    return found


def _least_integer(kernel: Kernel, tags: set[str], extent: int | None, widest_bytes: int) -> dict[str, int]:
    """The least number for all integer arguments with which a 32-bit offset overflows, by tag.

    Where several overflow, those that do so first.
    """
    assert kernel.grid is not None
    grid = kernel.grid

    def overflowing(number: int, negative: bool) -> set[str]:
        blocks = grid.blocks(tags, extent, number)
        if isinstance(blocks, str):
            return set()
        accesses = {tag: blocks.accesses.get(tag, ()) for tag in tags}
        return {tag for tag in tags if _wraps(blocks, accesses[tag], widest_bytes, negative)}

    below = 0
    for number in _INTEGERS:
        if overflowing(number, negative=False):
            tried = range(below + 1, number)
            least = below + 1 + bisect_left(tried, True, key=lambda n: bool(overflowing(n, negative=False)))
            return dict.fromkeys(overflowing(least, negative=True), least)
        below = number
    return {}


def _wraps(blocks: Blocks, accesses: Collection[Recorded], widest_bytes: int, negative: bool) -> bool:
    """Whether 32-bit arithmetic of an address in a large tensor overflowed, `negative`: to before it."""
    total = blocks.threads * len(blocks.at)
    for access in (one for one in accesses if one.reached):
        second = access.second_space == "gmem" and access.second is not None
        own = access.second_provenance if second else access.provenance
        place = access.second if second else access.address
        size = blocks.sizes.get(int(np.asarray(place).flat[0]) // GLOBAL_STEP)
        if not own & blocks.overflow or (size is not None and size < 1 << 31):
            continue
        if not negative:
            return True
        on = np.ones(total, bool) if access.active is None else access.active
        for _, _, space, _, address in access_parts(access, widest_bytes):
            if (
                space == "gmem"
                and (on & (np.broadcast_to(np.asarray(address, np.int64), (total,)) < 0)).any()
            ):
                return True
    return False


@dataclass(slots=True)
class Judged:
    """The first fault of each side of an operation; `sure` says that it rests on no number that was given.

    `run` names the blocks that were evaluated. `inside` counts the bytes that stay in their tensor there, and
    those of different accesses (-1: not counted, as nothing is predicated and nothing leaves it). `left` are
    the objects that accesses leave, with their bytes.
    """

    faults: list[LoweredFault]
    sure: bool
    run: str = ""
    inside: tuple[int, int] = (0, -1)
    left: dict[int, int] = field(default_factory=dict)


def _judged(
    kernel: Kernel, tags: Collection[str], extent: int | None, widest_bytes: int
) -> dict[str, Judged | str]:
    """What the blocks at the grid's edges do under `tags`, or why that is not known."""
    assert kernel.grid is not None
    return _judge_all(kernel.grid.blocks(tags, extent), tags, extent, widest_bytes)


def _judge_all(
    blocks: Blocks | str, tags: Collection[str], extent: int | None, widest_bytes: int
) -> dict[str, Judged | str]:
    """The same of blocks that were evaluated; `extent` is told with faults."""
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
    run = f"{extent or 0} {crc32(repr(blocks.at).encode()):x}"
    found = Judged([], blocks.rests == "static", run)
    reached = [access for access in accesses if access.reached]
    if not reached and not blocks.whole:
        return NOT_MET
    moved: list[IntArray] = []
    for access in reached:
        for side, op, space, width, address in access_parts(access, widest_bytes):
            if space != "gmem":
                continue
            size, sure = _bound(blocks, access, side)
            if isinstance(size, str):
                return size
            found.sure = found.sure and sure
            row, reads = _spans(blocks, access, width, address)
            stays = (row >= 0) & (row + reads <= size)
            moved.append(np.stack((row[stays], reads[stays])))
            fault = _beyond(blocks, access, (side, op, size), row, reads, stays, 0 if sure else extent or 0)
            if fault is None:
                continue
            found.left[_object(access, side)] = size
            if fault.side not in {one.side for one in found.faults}:
                found.faults.append(fault)
    counts = sum(int(one[1].sum()) for one in moved)
    partly = found.faults or any(access.active is not None for access in reached)
    found.inside = (
        counts,
        int(np.unique(np.concatenate(moved, axis=1), axis=1)[1].sum()) if partly and moved else -1,
    )
    return found


def _spans(blocks: Blocks, access: Recorded, width: int, address: object) -> tuple[IntArray, IntArray]:
    """Where every thread of every block begins, and how many bytes it moves: 0 where it does nothing."""
    total = blocks.threads * len(blocks.at)
    row = np.broadcast_to(np.asarray(address, np.int64), (total,))
    bytes_ = np.full(total, width)
    if access.op.startswith("cp.async") and access.coordinates:  # how many bytes it reads
        bytes_ = np.broadcast_to(np.asarray(access.coordinates[0], np.int64), (total,))
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
    rests = [one for one in blocks.reasons.read(own | access.guard) if one != OVERFLOW]
    if any(one != ("arguments", EXTENTS) for one in rests):
        return (LOADED if any(kind != "arguments" for kind, _ in rests) else RUN_TIME), False
    if blocks.rests == "arguments":
        return RUN_TIME, False
    size = blocks.sizes.get(_object(access, side), RUN_TIME)
    return size, blocks.rests == "static" and not rests


def _object(access: Recorded, side: int) -> int:
    """The object in global memory that one side of an access points into."""
    second = access.second_space == "gmem" and side == 0 and access.second is not None
    place = access.second if second else access.address
    return int(np.asarray(place).flat[0]) // GLOBAL_STEP


def conditions(found: Bounds) -> dict[str, str]:
    """What the caller has to keep so that accesses stay in their tensors, by tag, and what happens if not."""
    told = {tag: _tail(*one, found.modes.get(tag, ())) for tag, one in found.multiple.items()}
    for tag, extent in found.overflows.items():
        few = (
            f"{TOO_MANY} more than 2^31 elements (all dynamic extents below {extent}): offsets are "
            f"computed in 32 bits; {REPAIR}"
        )
        told[tag] = f"{told[tag]}; {few}" if tag in told else few
    return told


def _tail(multiple: int, fault: LoweredFault, modes: tuple[int, ...]) -> str:
    verb = {"src": "reads", "dst": "writes"}[fault.side]
    what = f"a multiple of {multiple}" if multiple else f"other than {fault.extent}"
    needed = f"every dynamic extent has to be {what}"
    if max(modes, default=1) > 1:
        parts = [f"of {number} in mode {i}" for i, number in enumerate(modes) if number > 1]
        needed = f"the dynamic extents have to be multiples {' and '.join(parts)}"
    return (
        f"{needed}: with {fault.extent} thread {fault.thread} of block "
        f"{fault.block} {verb} {fault.width_bytes} B at byte {fault.address} of {fault.other}"
    )


def _rests(op: LoweredOp, widest_bytes: int) -> str:
    """What the accesses to global memory of an operation rest on in block 0; "" if it has none."""
    bits, any_ = 0, False
    for access in op.accesses:
        if any(space == "gmem" for _, _, space, _, _ in access_parts(access, widest_bytes)):
            any_ = True
            if access.reached:
                own = access.second_provenance if access.second_space == "gmem" else access.provenance
                bits |= own | access.guard
    return op.kind_of(bits) if any_ else ""
