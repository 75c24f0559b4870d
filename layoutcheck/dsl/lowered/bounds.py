"""Accesses outside of the tensors that a kernel is given.

Tensors are judged in the blocks at the edges of the grid, and only where everything is known: the tensor's
type says its extents and strides, the grid is the host's, and neither the address nor the predicate rests on
more than threads, blocks and loop counters. A missing predicate, one of another mode or one for several
elements is told by block, thread and byte.

Dynamic extents are given numbers: one for all of them, a multiple of any tile; then one promise more, and
one less. An access that stays inside for all three is checked. One that leaves its tensor with a tail rests
on the caller, who has to give multiples of the tile; which multiple is found by trying. One that leaves it
with whole tiles is told if it leaves larger tensors and smaller ones, too: else extents that must differ (a
list of n + 1 offsets) were made equal. One that stays inside is tried with each tensor smaller than the
others: a predicate made of another tensor's extents rests on the caller.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from layoutcheck.dsl.lowered import Kernel
from layoutcheck.dsl.lowered.arguments import Extent, Numbers, Unequal
from layoutcheck.dsl.lowered.conditions import Bounds, leaves_by
from layoutcheck.dsl.lowered.grid import IN_GRID, LONG_LOOP, RUN_TIME, TOO_LONG, Grid
from layoutcheck.dsl.lowered.judged_blocks import LOADED, NOT_MET, Judged
from layoutcheck.dsl.lowered.lowered_op import LoweredOp, global_parts
from layoutcheck.dsl.lowered.modes import judged_in_modes
from layoutcheck.dsl.lowered.overflows import least_extent, least_integer, overflowing
from layoutcheck.sources.traced import KEPT, LoweredFault

UNUSED = "whether it uses what it reads of another coordinate"
RELATED = "how the dynamic extents relate is not known"
_MOST_MULTIPLE = 1024
_MOST_CALLS = 8  # of a kernel that are evaluated
_MOST_HELD = 4  # the same for what their tensors hold
_BY_CONTENTS = (LOADED, NOT_MET, TOO_LONG, LONG_LOOP, IN_GRID)  # what they may tell
_NEVER = 1 << 63
_MOST_BYTES = 1 << 31  # of a tensor that is made larger than the others
_LARGE = 512  # each of three modes of a tensor of many; or one is the largest, and two are a tile's
_LARGEST, _TILE = 8192, 256
WRAPS = (
    "its 32-bit offset overflows if all integer arguments are {} or more; with cutlass.Int64 for them and "
    "for its coordinates it does not"
)


def tensor_bounds(kernel: Kernel, widest_bytes: int, calls: Sequence[Numbers | None] = ()) -> Bounds:
    """The bounds of everything that a kernel does in global memory; `calls` are those that the program makes.

    None stands for a call of which the numbers are not known. TMA keeps to its tensor by itself: its
    instructions are not looked at here.
    """
    found = _with_any_extents(kernel, widest_bytes)
    if kernel.grid is None or not calls:
        return found
    numbers = dict.fromkeys(call and replace(call, contents=()) for call in calls)
    known = [call for call in numbers if call is not None][:_MOST_CALLS]
    if known:
        _in_the_call(kernel, found.faults, widest_bytes, known[0])
    unseen = set() if known and len(known) == len(numbers) else set(found.judged)
    for call in known:
        every = call is known[0]
        left = {tag for tag in found.judged - found.faults.keys() if every or _may_leave(found, tag, call)}
        for tag, one in judged_in_modes(kernel, left, None, widest_bytes, call).items() if left else ():
            if isinstance(one, str) or not one.sure:
                unseen.add(tag)
            elif one.faults:
                _leaves(found, tag, one.faults, call)
            elif one.strays:
                unseen.add(tag)
    loaded = {tag for tag, why in found.unchecked.items() if why.startswith(_BY_CONTENTS)}
    inside = _by_contents(kernel, found, (unseen | loaded) - found.faults.keys(), calls, widest_bytes)
    found.kept.update(found.judged - unseen | inside)
    for tag in found.kept & found.unchecked.keys():
        if found.unchecked[tag].startswith((RUN_TIME, RELATED, *_BY_CONTENTS)):
            found.unchecked[tag] += f"; {KEPT}"
    return found


def _in_the_call(
    kernel: Kernel, faults: dict[str, list[LoweredFault]], widest_bytes: int, call: Numbers
) -> None:
    """Tells what leaves its tensor with all extents by the program's own call, if it does so there."""
    made_up = {tag: told[0].extent for tag, told in faults.items() if told and told[0].extent}
    again = judged_in_modes(kernel, made_up.keys(), None, widest_bytes, call) if made_up else {}
    for tag, one in again.items():
        if isinstance(one, Judged) and one.sure and one.faults:
            faults[tag] = [replace(fault, called=call.told, extent=made_up[tag]) for fault in one.faults]


def _by_contents(
    kernel: Kernel, found: Bounds, tags: set[str], calls: Sequence[Numbers | None], widest: int
) -> set[str]:
    """Judge in the program's calls what rests on integers that their tensors hold.

    What of it stays inside in all calls; none of it where the contents of some are not known.
    """
    held = [call for call in calls if call is not None and call.contents]
    inside = set(tags) if len(held) == len(calls) <= _MOST_HELD else set()
    for call in held[:_MOST_HELD]:
        left = tags - found.faults.keys()
        for tag, one in judged_in_modes(kernel, left, None, widest, call).items() if left else ():
            if isinstance(one, str) or not one.sure or one.faults:
                inside.discard(tag)
            if isinstance(one, Judged) and one.sure and one.faults:
                _leaves(found, tag, one.faults, call)
    return inside


def _leaves(found: Bounds, tag: str, faults: Sequence[LoweredFault], call: Numbers) -> None:
    """An operation leaves a tensor in a call: nothing else is said of it."""
    found.faults[tag] = [replace(fault, called=call.told) for fault in faults]
    others: tuple[dict[str, Any], ...] = (
        found.unchecked, found.multiple, found.modes, found.overflows, found.unequal, found.others
    )  # fmt: skip
    for other in others:
        other.pop(tag, None)


def _may_leave(found: Bounds, tag: str, call: Numbers) -> bool:
    """Whether an operation, of which it rests on the caller, may leave its tensor in a call."""
    multiple, _ = found.multiple.get(tag, (1, None))
    if multiple == 0 or any(extent % multiple for extent in call.extents):
        return True
    large = found.overflows.get(tag, _NEVER) <= max(call.extents, default=0)
    if tag in found.unequal or tag in found.others or large:
        return True
    return found.unchecked.get(tag, "").startswith((RUN_TIME, RELATED))


def _with_any_extents(kernel: Kernel, widest_bytes: int) -> Bounds:
    """The bounds for every caller."""
    found = Bounds()
    tags = found.judged
    for tag, op in kernel.lowered_ops.items():
        rests = _rests(op, widest_bytes)
        if rests in ("static", "arguments"):
            tags.add(tag)
        elif rests:
            found.unchecked[tag] = LOADED
    if not tags:
        return found
    if kernel.grid is None:
        found.unchecked.update(dict.fromkeys(tags, RUN_TIME))
        return found
    promise = kernel.grid.promise()
    whole = promise[1] if promise else None
    tried = _Tried(kernel, kernel.grid, widest_bytes, *promise) if promise else None
    first = judged_in_modes(kernel, tags, whole, widest_bytes, counted=True)
    for tag, one in first.items():
        if isinstance(one, str):
            found.unchecked[tag] = one
            continue
        found.inside[tag] = {one.run: one.inside}
        if one.sure:
            found.faults[tag] = one.faults
        elif one.faults:
            found.unchecked[tag] = f"{RELATED}: {leaves_by(one.faults[0])}"
    always = tried.always(first) if tried is not None else {}
    for tag in always:
        found.faults[tag] = always[tag]
        del found.unchecked[tag]
    unsaid = {tag for tag in tags if found.unchecked.get(tag) == RUN_TIME}
    least = least_integer(kernel, unsaid, whole, widest_bytes) if unsaid else {}
    found.unchecked.update((tag, f"{RUN_TIME}; {WRAPS.format(n)}") for tag, n in least.items())
    open_ = {tag for tag, one in first.items() if isinstance(one, Judged) and not one.sure and not one.faults}
    strays = {tag: one.strays for tag, one in first.items() if isinstance(one, Judged) and one.strays}
    if tried is not None and open_:
        tried.with_tails(found, open_, strays)
    for tag, stray in strays.items():
        found.unchecked.setdefault(tag, f"{UNUSED}: {leaves_by(stray)}")
    return found


class _Tried:
    """A kernel whose dynamic extents are given numbers, multiples of `quantum`; `whole` is a large one."""

    def __init__(self, kernel: Kernel, grid: Grid, widest_bytes: int, quantum: int, whole: int) -> None:
        self.kernel, self.grid, self.widest = kernel, grid, widest_bytes
        self.quantum, self.whole = quantum, whole

    def judged(
        self, tags: Collection[str], extent: int, numbers: Extent = None, counted: bool = False
    ) -> dict[str, Judged | str]:
        """`judged_in_modes` of this kernel."""
        return judged_in_modes(self.kernel, tags, extent, self.widest, numbers, counted)

    def with_tails(self, found: Bounds, open_: set[str], strays: dict[str, LoweredFault]) -> None:
        """What operations that stay inside with whole tiles do with others, and in larger tensors."""
        tails: dict[str, LoweredFault] = {}
        quantum, whole = self.quantum, self.whole
        for extent in (whole + quantum, whole - quantum):
            for tag, one in self.judged(open_, extent, counted=True).items():
                if isinstance(one, str):
                    found.unchecked.setdefault(tag, one)
                    continue
                if one.strays:
                    strays.setdefault(tag, one.strays)
                found.inside[tag][one.run] = one.inside
                if one.faults and tag not in found.unchecked:
                    tails.setdefault(tag, one.faults[0])
        multiple = 2 * quantum
        left = set(tails)
        while left and multiple <= min(whole, _MOST_MULTIPLE):
            again = self.judged(left, whole + multiple)
            right = {tag for tag, one in again.items() if isinstance(one, Judged) and not one.faults}
            found.multiple.update((tag, (multiple, tails[tag])) for tag in right)
            left -= right
            multiple *= 2
        found.multiple.update((tag, (0, tails[tag])) for tag in left)
        steps = self.grid.quanta()
        for numbers in self._uneven(steps):  # what one mode promises holds for no other
            left = open_ - found.unchecked.keys() - found.multiple.keys()
            for tag, one in self.judged(left, max(numbers), numbers).items():
                if isinstance(one, Judged) and one.faults:
                    found.multiple[tag] = quantum, one.faults[0]
                    found.tried[tag] = numbers
        found.modes.update(self._by_mode(found.multiple, steps))
        left = open_ - found.unchecked.keys() - found.multiple.keys()
        found.unequal.update(self._unequal(left))
        found.others.update(self._smaller(left - found.unequal.keys()))
        for extent in self.grid.many(whole):
            left = open_ - found.unchecked.keys() - found.overflows.keys()
            some = overflowing(self.kernel, left, extent, self.widest)
            if some:
                near = [one for one in self.grid.many(quantum) if one <= extent]
                found.overflows.update(
                    least_extent(self.kernel, some, quantum, near[-1], extent, self.widest)
                )

    def always(self, first: Mapping[str, Judged | str]) -> dict[str, list[LoweredFault]]:
        """The faults of operations that leave their tensor, by tag, however large it is beside the others.

        `first` is what they do if all dynamic extents are alike.
        """
        whole = self.whole
        found: dict[str, list[LoweredFault]] = {}

        def leaves(
            tag: str, base: int, own: int | tuple[int, ...], others: int | None
        ) -> tuple[int, list[LoweredFault]]:
            """The bytes of the tensor that an operation leaves with these extents, 0 if it leaves none; how.

            All other tensors have the same extents if `others` is None.
            """
            numbers = own if others is None else Unequal(base - 1, own, others)
            again = self.judged({tag}, whole, numbers)[tag]
            if isinstance(again, str) or any(fault.overflows for fault in again.faults):
                return 0, []
            return again.left.get(base, 0), again.faults

        for tag, one in first.items():
            if isinstance(one, str) or one.sure or not one.faults or any(f.overflows for f in one.faults):
                continue
            for base, size in one.left.items():
                twice, told = leaves(tag, base, 2 * whole, whole)
                modes = (twice // max(1, size)).bit_length() - 1  # so many of its extents are dynamic
                most = (_MOST_BYTES // max(1, size)).bit_length() - 1
                if not twice or modes < 1 or not leaves(tag, base, whole, 2 * whole)[0]:
                    break
                if most > modes:
                    told = leaves(tag, base, whole << most // modes, whole)[1]
                larger = self._long(size)
                if not told or not all(leaves(tag, base, *extents)[0] for extents in larger):
                    break
                found.setdefault(tag, []).extend(told)
            else:
                continue
            found.pop(tag, None)
        return found

    def _long(self, size: int) -> Iterator[tuple[tuple[int, ...], int | None]]:
        """A tensor's extents, some much larger, and those of all others; `size` bytes if all are whole.

        A tensor of many modes is small in each where all are alike. What a kernel takes a mode for may be
        more: rows of 512, or a tile's rows and columns at once. So any three of many modes are large, one of
        them most. The other tensors have the same (the host may make a view of one of another's extents), or
        the least.
        """
        quantum, whole = self.quantum, self.whole
        rank = max(self.grid.ranks(), default=0)
        if rank == 2:
            long = whole * max(1, _MOST_BYTES // max(1, size))
            yield from (((long, whole), whole), ((whole, long), whole))
        for some in combinations(range(rank), 3):
            for most in (None, *some):
                rest = _LARGE if most is None else _TILE
                large = {mode: math.lcm(quantum, _LARGEST if mode == most else rest) for mode in some}
                own = tuple(large.get(mode, quantum) for mode in range(rank))
                yield from ((own, None), (own, quantum))

    def _uneven(self, steps: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Extents one step above and below whole tiles, where the modes' steps are not all the quantum."""
        if any(step != self.quantum for step in steps):
            yield tuple(self.whole + step for step in steps)
            yield tuple(self.whole - step for step in steps)

    def _by_mode(
        self, multiple: Mapping[str, tuple[int, LoweredFault]], steps: Sequence[int]
    ) -> dict[str, tuple[int, ...]]:
        """The least multiple that the extents of each mode need while those of the others are whole, by tag.

        Only of what stays inside if all modes keep their multiple at once; 1 where the type promises enough.
        The same mode of all tensors gets the same number, a multiple of its one of `steps`; where tensors
        differ in rank there are none, and nothing is known.
        """
        rank, whole = len(steps), self.whole
        tags = {tag for tag, (number, _) in multiple.items() if number > 1}
        if rank < 2 or not tags:
            return {}

        def inside(left: set[str], numbers: Sequence[int]) -> set[str]:
            found = self.judged(left, max(numbers), tuple(numbers)).items()
            return {tag for tag, one in found if isinstance(one, Judged) and not one.faults}

        found: dict[str, list[int]] = {tag: [] for tag in tags}
        for mode in range(rank):
            left, number = set(tags), steps[mode]
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
            checked.update(
                dict.fromkeys(right, tuple(n if n > q else 1 for n, q in zip(numbers, steps, strict=True)))
            )
        return checked

    def _unequal(self, tags: Collection[str]) -> dict[str, tuple[tuple[int, ...], LoweredFault]]:
        """How operations leave a tensor one mode of which is larger, by tag: with its extents, mode by mode.

        Only what leaves it whatever extents the other tensors have: how they relate is not known. The extents
        have a tail, which these operations stand where all are alike.
        """
        rank, quantum, whole = max(self.grid.ranks(), default=0), self.quantum, self.whole
        found: dict[str, tuple[tuple[int, ...], LoweredFault]] = {}
        if rank < 2 or whole // 2 % quantum:
            return found
        small, large = whole // 2 + quantum, whole + quantum
        for longest in range(rank):
            own = tuple(large if mode == longest else small for mode in range(rank))
            others = (own, own[::-1], (small,) * rank, (large,) * rank)

            left = set(tags) - found.keys()
            for tag, one in self.judged(left, whole, own).items():
                if isinstance(one, str) or any(fault.overflows for fault in one.faults):
                    continue
                for base in one.left:
                    again = [
                        self.judged({tag}, whole, Unequal(base - 1, own, other))[tag] for other in others
                    ]
                    if all(isinstance(each, Judged) and base in each.left for each in again):
                        found[tag] = own, one.faults[0]
        return found

    def _smaller(self, tags: Collection[str]) -> dict[str, tuple[int, int]]:
        """The extents of a tensor and of all others with which an operation leaves the tensor, by tag."""
        given, whole = self.grid.dynamic(), self.whole
        found: dict[str, tuple[int, int]] = {}
        for index in given if len(given) > 1 else ():
            left = set(tags) - found.keys()
            numbers = Unequal(index, whole, 2 * whole)
            again = self.judged(left, whole, numbers) if left else {}
            for tag, one in again.items():
                if isinstance(one, str) or index + 1 not in one.left or any(f.overflows for f in one.faults):
                    continue
                found[tag] = whole, 2 * whole
        return found


def _rests(op: LoweredOp, widest_bytes: int) -> str:
    """What the accesses to global memory of an operation rest on in block 0; "" if it has none."""
    bits, any_ = 0, False
    for access in op.accesses:
        if any(space == "gmem" for _, _, space, _, _ in global_parts(access, widest_bytes)):
            any_ = True
            if access.reached:
                own = access.second_provenance if access.second_space == "gmem" else access.provenance
                bits |= own | access.guard | access.counted
    return op.kind_of(bits) if any_ else ""
