"""A kernel whose dynamic extents are given numbers: whole tiles, tails, larger tensors, tensors that differ.

There is one number for all of them, a multiple of any tile; then one promise more, and
one less. An access that stays inside for all three is checked. One that leaves its tensor with a tail rests
on the caller, who has to give multiples of the tile; which multiple is found by trying. One that leaves it
with whole tiles is told if it leaves larger tensors and smaller ones, too: else extents that must differ (a
list of n + 1 offsets) were made equal. One that stays inside is tried with each tensor smaller than the
others: a predicate made of another tensor's extents rests on the caller.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

from layoutcheck.dsl.lowered import Kernel
from layoutcheck.dsl.lowered.arguments import Extent, Unequal
from layoutcheck.dsl.lowered.conditions import Bounds
from layoutcheck.dsl.lowered.covered import stores_of
from layoutcheck.dsl.lowered.grid import Grid
from layoutcheck.dsl.lowered.judged_blocks import Judged
from layoutcheck.dsl.lowered.modes import judged_in_modes
from layoutcheck.dsl.lowered.overflows import least_extent, overflowing
from layoutcheck.sources.traced import LoweredFault

_MOST_MULTIPLE = 1024  # that dynamic extents may have to be of
_MOST_BYTES = 1 << 31  # of a tensor that is made larger than the others
_LARGE = 512  # each of three modes of a tensor of many; or one is the largest, and two are a tile's
_LARGEST, _TILE = 8192, 256


class Tried:
    """A kernel whose dynamic extents are given numbers, multiples of `quantum`; `whole` is a large one."""

    def __init__(self, kernel: Kernel, grid: Grid, widest_bytes: int, quantum: int, whole: int) -> None:
        self.kernel, self.grid, self.widest = kernel, grid, widest_bytes
        self.quantum, self.whole = quantum, whole

    def judged(
        self, tags: Collection[str], extent: int, numbers: Extent = None, counted: bool = False
    ) -> dict[str, Judged | str]:
        """`judged_in_modes` of this kernel."""
        return judged_in_modes(self.kernel, tags, extent, self.widest, numbers, counted)

    def with_tails(
        self, found: Bounds, open_: set[str], strays: dict[str, LoweredFault], first: dict[str, Judged | str]
    ) -> None:
        """What operations that stay inside with whole tiles do with others, and in larger tensors.

        `first` is what they do with whole tiles.
        """
        tails: dict[str, LoweredFault] = {}
        quantum, whole = self.quantum, self.whole
        ends: list[set[int]] = []
        for extent in (whole + quantum, whole - quantum):
            again = self.judged(open_, extent, counted=True)
            ends.append(_ends(again))
            for tag, one in again.items():
                if isinstance(one, str):
                    found.unchecked.setdefault(tag, one)
                    continue
                if one.strays:
                    strays.setdefault(tag, one.strays)
                found.inside[tag][one.run] = one.stays
                if one.faults and tag not in found.unchecked:
                    tails.setdefault(tag, one.faults[0])
        left = set(tails)
        for multiple in self._multiples():
            again = self.judged(left, whole + multiple) if left else {}
            right = {tag for tag, one in again.items() if isinstance(one, Judged) and not one.faults}
            found.multiple.update((tag, (multiple, tails[tag])) for tag in right)
            left -= right
        found.multiple.update((tag, (0, tails[tag])) for tag in left)
        found.unwritten.update(self._unwritten(first, open_, set().union(*ends)))
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

    def _multiples(self) -> Iterator[int]:
        """The multiples of the quantum that may make tiles whole, each twice the one before."""
        multiple = 2 * self.quantum
        while multiple <= min(self.whole, _MOST_MULTIPLE):
            yield multiple
            multiple *= 2

    def _unwritten(
        self, first: Mapping[str, Judged | str], tags: set[str], ends: set[int]
    ) -> dict[str, tuple[int, int]]:
        """By the tag of a store: its tensor's last element is written if extents are multiples of a number.

        That number, and an extent with which it is not. With whole tiles it is written (`first`), with tails
        only those of `ends` are. Nothing is said where more than stores under `tags` may write the tensor.
        """
        stores, lost = stores_of(self.kernel), _ends(first) - ends
        if not lost or stores is None or not stores <= tags:
            return {}
        last = {
            base: tag for tag, one in first.items() if isinstance(one, Judged) for base in one.ends & lost
        }
        found: dict[str, tuple[int, int]] = {}
        for multiple in self._multiples():
            again = _ends(self.judged(stores, self.whole + multiple)) if lost else set()
            found.update((last[base], (multiple, self.whole + self.quantum)) for base in lost & again)
            lost -= again
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


def _ends(judged: Mapping[str, Judged | str]) -> set[int]:
    """The objects whose last byte something writes."""
    return set().union(*(one.ends for one in judged.values() if isinstance(one, Judged)))
