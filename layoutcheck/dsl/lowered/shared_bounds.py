"""Accesses that leave their own allocation in shared memory.

The kernel is evaluated again (`shared_turns`), with the allocations far apart. Boxes of TMA and bulk copies
count whole, an mbarrier's 8 bytes as well.
A struct is one allocation: accesses that leave a member of it are told by `mixed`. Block 0 is evaluated;
where an address is made of the block's index, or it decides how often an access happens, others are, too.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from layoutcheck.dsl.lowered import Kernel
from layoutcheck.dsl.lowered.allocations import APART, PERIOD, Allocation, allocations, far_apart
from layoutcheck.dsl.lowered.blocks import edges, every_block
from layoutcheck.dsl.lowered.evaluate import launch_of
from layoutcheck.dsl.lowered.grid import BLOCK_THREADS
from layoutcheck.dsl.lowered.instructions import is_mbarrier
from layoutcheck.dsl.lowered.judged_blocks import NOT_MET
from layoutcheck.dsl.lowered.machine import Machine
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.dsl.lowered.shared_access import SIDES, Met, addressing, in_shared
from layoutcheck.dsl.lowered.shared_turns import SharedAccesses, TooLong
from layoutcheck.dsl.lowered.steps.lanes import MAKERS as BETWEEN_LANES
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.dsl.lowered.views import Member, Members, SharedViews, Touch, mixed, overwritten
from layoutcheck.machine.arch import WARP
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.traced import LoweredFault

IN_SHARED = "in shared memory: "  # so begins a reason that has nothing to do with tensors in global memory
MEANT = "which is right if the space of several members is used as one"
SIZED = "with the numbers that dynamic extents and integers were given"
TOGETHER = "which is right if the space of several allocations is used as one"
LONG_LOOP = f"{IN_SHARED}a loop around it has more turns than are evaluated, and they do not repeat"
OTHER_BLOCKS = (
    f"{IN_SHARED}its address is made of the block's index, and other blocks take too long to evaluate"
)
_MOST_BLOCKS = 256  # of a grid that is evaluated whole for what few blocks do
_MOST_ELSEWHERE = 60_000  # operations of the evaluation of other blocks than block 0

Blocks = tuple[tuple[int, int, int], ...]
Faults = dict[str, list[LoweredFault]]  # by tag


@dataclass(slots=True)
class Leaving:
    """The first access on each side of an operation that leaves its allocation, and tags not judged, why.

    `strays` are those that leave a member of a struct, by tag and side, and `reach` how far: the first byte
    and the end, from the member's begin, and the room that it has. `touched` is what is done in each
    allocation. `counted` are the faults, by tag and side, of accesses that run-time numbers decide upon.
    """

    faults: Faults = field(default_factory=dict)
    unchecked: dict[str, str] = field(default_factory=dict)
    strays: dict[tuple[str, int], LoweredFault] = field(default_factory=dict)
    reach: dict[tuple[str, int], tuple[int, int, int]] = field(default_factory=dict)
    touched: dict[Allocation, list[Touch]] = field(default_factory=lambda: defaultdict(list))
    counted: set[tuple[str, str]] = field(default_factory=set)

    def not_judged(self, names: Iterable[str], why: str) -> None:
        """Unless there is another reason already."""
        for name in names:
            self.unchecked.setdefault(name, why)

    def withdraw(self, which: Iterable[tuple[str, str]], why: str) -> None:
        """By tag and side: what leaves its allocation there is no fault, for this reason, but not checked."""
        for name, side in which:
            faults = self.faults.pop(name)
            fault = next(one for one in faults if (one.side, one.kind) == (side, "leaves"))
            if left := [one for one in faults if one is not fault]:
                self.faults[name] = left
            self.not_judged([name], _touches(fault, why))

    def add(self, other: Leaving) -> None:
        """What other blocks do."""
        for name, faults in other.faults.items():
            self.faults.setdefault(name, []).extend(faults)
        self.counted |= other.counted
        for name, why in other.unchecked.items():
            self.not_judged([name], why)

    def add_leaving(self, met: Met, one: Allocation, guard: str, alone: bool) -> set[str]:
        """An access that leaves its allocation: the side of the fault, if it is one.

        What may be meant (an epilogue's tile over the allocations of several operands) is behind a loop over
        tiles: with several it is not checked.
        """
        fault = met.fault("leaves", one.start, one.size, base=one.start % PERIOD, align=one.align)
        if guard == "sized" or (guard != "static" and not alone):
            self.unchecked.setdefault(met.name, _touches(fault, SIZED if guard == "sized" else TOGETHER))
            return set()
        if guard != "static":
            self.counted.add((met.name, fault.side))
        self.faults.setdefault(met.name, []).append(fault)
        return {fault.side}

    def add_stray(self, met: Met, base: int, member: Member) -> None:
        """An access that may leave a member of the struct that begins at `base`."""
        start, key = base + member.start, (met.name, met.side)
        rows = met.row[met.outside(start, member.size)] - start
        if rows.size:
            low, high, room = self.reach.get(key, (0, 0, member.room))
            self.reach[key] = min(low, int(rows.min())), max(high, int(rows.max()) + met.width), room
            self.strays.setdefault(key, met.fault("member", start, member.size, mode=member.name))


def leaving(kernel: Kernel, widest_bytes: int, boxes: Mapping[str, int], views: SharedViews) -> Leaving:
    """Of a kernel; `boxes` are the bytes that an instruction of a TMA copy moves, by tag."""
    known = {} if kernel.grid is None else allocations(kernel.grid.kernel)
    if kernel.grid is None or not (known or kernel.shared_bytes):
        return Leaving()
    judged = _Judged(kernel, known, widest_bytes, boxes, views)
    found = judged.block_0()
    _mixed(found)
    found.withdraw(judged.meant(found.faults), TOGETHER)
    found.faults = judged.without_base(found.faults)
    found.add(judged.elsewhere(found.faults))
    found.withdraw(judged.sized(found.counted), SIZED)
    return found


class _Judged:
    """A kernel's accesses to shared memory, held against its allocations: `known`, by their operations.

    `alone` are these as the kernel was evaluated, `places` those far apart where there are several, `at` the
    places of the evaluation at hand.
    """

    def __init__(
        self, kernel: Kernel, known: Mapping[Operation, Allocation], widest_bytes: int,
        boxes: Mapping[str, int], views: SharedViews,
    ) -> None:  # fmt: skip
        self.kernel, self.known, self.views = kernel, known, views
        self.widest_bytes, self.boxes = widest_bytes, boxes
        self.turns = SharedAccesses(kernel, mbarriers=True)
        self.alone = list(known.values()) or [Allocation(kernel.shared_bytes, PERIOD)]
        self.places: Mapping[Operation, Allocation] = far_apart(known) if len(self.alone) > 1 else {}
        self.at = list(self.places.values()) or self.alone

    def block_0(self) -> Leaving:
        """What leaves its allocation, or the member of a struct, in block 0."""
        found = Leaving()
        ops, members = self.turns.kernel.walk(), self.views.members
        if len(self.alone) == 1 and not self.kernel.shortened and not any(map(is_mbarrier, ops)):
            for name, op in self.kernel.lowered_ops.items():
                self._add(found, name, op.accesses, op.kind_of, self.at, op.threads, members)
            return found
        machine, cut = self.turns.evaluated(self.places)
        self._add_all(found, machine, self.at, members=members)
        found.unchecked.update(dict.fromkeys(cut, LONG_LOOP))
        return found

    def meant(self, faults: Faults) -> list[tuple[str, str]]:
        """What leaves its allocation as its view spans it, by tag and side, if no value gets lost by it."""
        every = ((name, fault) for name, many in faults.items() for fault in many)
        found = {(name, fault.side) for name, fault in every if self._meant(name, fault)}
        if not found:
            return []
        touched = list(self._touched())
        lost = {*mixed(touched), *overwritten(touched)}
        return [(name, side) for name, side in found if (name, SIDES.index(side)) not in lost]

    def _meant(self, name: str, fault: LoweredFault) -> bool:
        """Whether it leaves one of several allocations as its view spans it."""
        wide = self.views.spans.get((name, SIDES.index(fault.side)), 0) > fault.other
        return fault.kind == "leaves" and len(self.alone) > 1 and wide

    def _touched(self) -> Iterator[Touch]:
        """What is done in all allocations, as if they were the members of one struct."""
        slots = {self.places[op].start // APART: (op, one) for op, one in self.known.items()}
        machine, _ = self.turns.evaluated(self.places)
        for name, accesses in machine.accesses.items():
            every = (self._met(name, access, machine.launch.threads) for access in accesses)
            for met in itertools.chain.from_iterable(every):
                if met.slot in slots:
                    op, one = slots[met.slot]
                    member = Member(f"{met.slot}", one.size, one.start, one.size)
                    yield met.touch(self.places[op].start - one.start, member)

    def without_base(self, faults: Faults) -> Faults:
        """Where an allocation begins matters to a fault only if there is none at a multiple of `PERIOD`."""
        if not any(one.base for many in faults.values() for one in many):
            return faults
        there = Leaving()
        places = far_apart({op: replace(one, start=0) for op, one in self.known.items()})
        self._add_all(there, self.turns.evaluated(places)[0], list(places.values()))
        sides = {name: {one.side for one in there.faults.get(name, ())} for name in faults}
        return {
            name: [replace(one, base=0) if one.side in sides[name] else one for one in many]
            for name, many in faults.items()
        }

    def elsewhere(self, known: Faults) -> Leaving:
        """What other blocks than block 0 do, as far as the block's index matters, beside what is known."""
        how, found = self.kernel.launch, Leaving()
        if not how.known or math.prod(how.grid) == 1:
            return found
        made, guarded = self.turns.by_block()
        if not made and not guarded:
            return found
        try:
            machine, blocks = self._other_blocks(made, guarded)
        except TooLong:
            found.not_judged(made, OTHER_BLOCKS)
            return found
        if len(blocks) < math.prod(how.grid):
            found.not_judged((name for name in guarded if not machine.met([name])), f"{IN_SHARED}{NOT_MET}")
        there = Leaving()
        self._add_all(there, machine, self.at, how.threads * len(blocks))
        for name, faults in there.faults.items():
            sides = {one.side for one in known.get(name, ())}
            for fault in (one for one in faults if one.side not in sides):
                number, thread = divmod(fault.thread, how.threads)
                block = str(blocks[number]).replace(" ", "")
                if how.rests == "static" and self._meant(name, fault):
                    found.not_judged([name], _touches(fault, TOGETHER))
                elif how.rests == "static":
                    told = replace(fault, thread=thread, block=block, base=0)
                    found.faults.setdefault(name, []).append(told)
                    found.counted.update({(name, fault.side)} & there.counted)
                else:
                    where = f"thread {thread} of block {block}, if the grid has one, leaves its allocation"
                    found.not_judged([name], f"{IN_SHARED}{where}")
        return found

    def _other_blocks(self, made: set[str], guarded: set[str]) -> tuple[Machine, Blocks]:
        """The blocks at the grid's edges evaluated, or all where these do not meet every access."""
        how = self.kernel.launch
        if self._between_lanes(how.threads) or how.threads > BLOCK_THREADS:
            raise TooLong
        ends = (sorted({0, n - 1}) for n in how.grid)
        blocks: Blocks = edges(how) if made else tuple((x, y, z) for x, y, z in itertools.product(*ends))
        machine, _ = self.turns.run(self.places, self.turns.lines, _MOST_ELSEWHERE, blocks)
        met = all(machine.met([name]) for name in guarded)
        if not met and len(blocks) < math.prod(how.grid) <= _MOST_BLOCKS:
            blocks = every_block(how)
            machine, _ = self.turns.run(self.places, self.turns.lines, _MOST_ELSEWHERE, blocks)
        return machine, blocks

    def _between_lanes(self, threads: int) -> bool:
        """Whether blocks cannot stand side by side: lanes speak, and warps are not whole."""
        return threads % WARP != 0 and any(op.name in BETWEEN_LANES for op in self.turns.kernel.walk())

    def sized(self, counted: set[tuple[str, str]]) -> list[tuple[str, str]]:
        """Those of the faults, by tag and side, that are none with the least of all run-time numbers.

        `if t < n` may keep a kernel inside, and a loop to the turns that have room: so the caller wants it.
        """
        grid, there = self.kernel.grid, Leaving()
        least = grid.launch(1, 1) if counted and grid is not None else None
        if least is not None:
            how = launch_of(self.turns.kernel, least)
            blocks = ((0, 0, 0),) if self._between_lanes(how.threads) else edges(how)
            with suppress(TooLong):
                machine, _ = self.turns.run({}, self.turns.lines, _MOST_ELSEWHERE, blocks, least)
                self._add_all(there, machine, self.alone, how.threads * len(blocks))
        return [
            (name, side)
            for name, side in counted
            if all(one.side != side for one in there.faults.get(name, ()))
        ]

    def _add_all(
        self, found: Leaving, machine: Machine, at: Sequence[Allocation], threads: int = 0,
        members: Members = MappingProxyType({}),
    ) -> None:  # fmt: skip
        """Of an evaluation with the allocations at these places; of so many threads, or those of a block."""
        for name, accesses in machine.accesses.items():
            total = threads or machine.launch.threads
            self._add(found, name, accesses, machine.reasons.worst, at, total, members)

    def _add(
        self, found: Leaving, name: str, accesses: Iterable[Recorded], kind_of: Callable[[int], str],
        at: Sequence[Allocation], threads: int, members: Members,
    ) -> None:  # fmt: skip
        """The first access on each side that leaves its allocation, what is sure first."""
        slots = {one.start // APART: one for one in at}
        told = {fault.side for fault in found.faults.get(name, ())}
        sure = [(guard, one) for one in accesses if (guard := _rests(kind_of, one))]
        for guard, access in sorted(sure, key=lambda one: one[0] != "static"):
            for met in self._met(name, access, threads):
                one = at[0] if len(at) == 1 else slots.get(met.slot)
                if one is None:
                    continue
                member = members.get((name, 1 if "mbarrier" in met.op else met.side))
                member = None if member is None or member.whole != one.size else member
                if members and guard == "static":
                    found.touched[one].append(met.touch(one.start, member))
                if SIDES[met.side] in told:
                    continue
                if met.outside(one.start, one.size).any():
                    told |= found.add_leaving(met, one, guard, alone=len(at) == 1)
                elif member is not None and guard != "sized":
                    found.add_stray(met, one.start, member)

    def _met(self, name: str, access: Recorded, threads: int) -> Iterator[Met]:
        active = addressing(access, threads)
        if not access.reached or not active.any():
            return
        for side, op, width, address in in_shared(access, self.widest_bytes, self.boxes.get(name, 0)):
            row = for_all(address, threads)
            yield Met(name, access.number, side, op, width, row, active)


def _rests(kind_of: Callable[[int], str], access: Recorded) -> str:
    """How much is sure of an access: "static", "arguments", "sized", or "" if it is not judged.

    Of one that happens as often as an extent says ("arguments") the place is known, if it happens
    (`_counted`). Of one whose place rests on the extents ("sized") its place is known with one.
    """
    guard, place = kind_of(access.guard), kind_of(access.provenance)
    if guard not in ("static", "arguments") or place not in ("static", "arguments"):
        return ""
    return guard if place == "static" else "sized"


def _touches(fault: LoweredFault, if_: str) -> str:
    return f"{IN_SHARED}it touches byte {fault.address} of an allocation of {fault.other} B, {if_}"


def _mixed(found: Leaving) -> None:
    """What leaves its member, told as a fault, as a note or as not checked."""
    for touched in found.touched.values():
        for (name, side), other in mixed(touched).items():
            if (name, side) in found.strays:
                fault = replace(found.strays.pop((name, side)), called=other)
                found.faults.setdefault(name, []).append(fault)
    for (name, side), fault in found.strays.items():
        low, high, room = found.reach[name, side]
        if low >= 0 and high <= room:
            known = found.faults.setdefault(name, [])
            if all(one.side != fault.side for one in known):
                known.append(replace(fault, kind="padding", coordinate=high))
            continue
        what = f"byte {fault.address} of member {fault.mode} of a struct, which has {fault.other} B"
        found.unchecked.setdefault(name, f"{IN_SHARED}it touches {what}, {MEANT}")
