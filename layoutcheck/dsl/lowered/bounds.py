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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from layoutcheck.dsl.lowered import Kernel
from layoutcheck.dsl.lowered.arguments import Unequal
from layoutcheck.dsl.lowered.grid import RUN_TIME
from layoutcheck.dsl.lowered.judged_blocks import LOADED, Judged, judge_all, judged
from layoutcheck.dsl.lowered.lowered_op import LoweredOp, access_parts
from layoutcheck.dsl.lowered.overflows import least_extent, least_integer, overflowing
from layoutcheck.sources.traced import TOO_MANY, LoweredFault

RELATED = "how the dynamic extents relate is not known"
_MOST_MULTIPLE = 1024
_MOST_BYTES = 1 << 31  # of a tensor that is made larger than the others
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
    first = judged(kernel, tags, promise[1] if promise else None, widest_bytes)
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
    least = least_integer(kernel, unsaid, promise[1] if promise else None, widest_bytes) if unsaid else {}
    found.unchecked.update((tag, f"{RUN_TIME}; {WRAPS.format(n)}") for tag, n in least.items())
    open_ = {tag for tag, one in first.items() if isinstance(one, Judged) and not one.sure and not one.faults}
    if promise is None or not open_:
        return found
    quantum, whole = promise
    for extent in (whole + quantum, whole - quantum):
        for tag, one in judged(kernel, open_, extent, widest_bytes).items():
            if isinstance(one, str):
                found.unchecked.setdefault(tag, one)
                continue
            found.inside[tag][one.run] = one.inside
            if one.faults and tag not in found.unchecked:
                tails.setdefault(tag, one.faults[0])
    multiple = 2 * quantum
    left = set(tails)
    while left and multiple <= min(whole, _MOST_MULTIPLE):
        again = judged(kernel, left, whole + multiple, widest_bytes)
        right = {tag for tag, one in again.items() if isinstance(one, Judged) and not one.faults}
        found.multiple.update((tag, (multiple, tails[tag])) for tag in right)
        left -= right
        multiple *= 2
    found.multiple.update((tag, (0, tails[tag])) for tag in left)
    found.modes.update(_by_mode(kernel, found.multiple, quantum, whole, widest_bytes))
    for extent in kernel.grid.many(whole):
        left = open_ - found.unchecked.keys() - found.overflows.keys()
        some = overflowing(kernel, left, extent, widest_bytes)
        if some:
            near = [one for one in kernel.grid.many(quantum) if one <= extent]
            found.overflows.update(least_extent(kernel, some, quantum, near[-1], extent, widest_bytes))
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
        again = judge_all(blocks, {tag}, whole, widest_bytes)[tag]
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
        found = judge_all(blocks, left, max(numbers), widest).items()
        return {tag for tag, one in found if isinstance(one, Judged) and not one.faults}

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
