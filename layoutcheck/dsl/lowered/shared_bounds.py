"""Accesses that leave their own allocation in shared memory.

The kernel is evaluated again for its accesses to shared memory alone, with the allocations far apart and with
every turn of its loops that differs: of a loop whose addresses follow a line the first and last turns, of one
that carries a stage each stage once. Boxes of TMA and bulk copies count whole, an mbarrier's 8 bytes as well.
A struct is one allocation: accesses that leave a member of it are told by `members`. Block 0 is evaluated;
where an address is made of the block's index, or it decides how often an access happens, others are, too.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered import Kernel, spaces
from layoutcheck.dsl.lowered.allocations import APART, PERIOD, Allocation, allocations, far_apart
from layoutcheck.dsl.lowered.by_block import ByBlock
from layoutcheck.dsl.lowered.corners import SHARED_SPACES, decided_by_corners
from layoutcheck.dsl.lowered.evaluate import Launched, launch_of, tag
from layoutcheck.dsl.lowered.flow import Flow
from layoutcheck.dsl.lowered.grid import BLOCK_THREADS, edges, every_block
from layoutcheck.dsl.lowered.instructions import BULK, is_mbarrier, is_memory
from layoutcheck.dsl.lowered.judged_blocks import NOT_MET
from layoutcheck.dsl.lowered.loops import CUT_SHORT
from layoutcheck.dsl.lowered.lowered_op import access_parts
from layoutcheck.dsl.lowered.machine import Machine
from layoutcheck.dsl.lowered.members import Member, Members, Touch, mixed, overwritten
from layoutcheck.dsl.lowered.needed import Needed
from layoutcheck.dsl.lowered.record import BULK_COPY, Mask, Recorded
from layoutcheck.dsl.lowered.steps.lanes import MAKERS as BETWEEN_LANES
from layoutcheck.dsl.lowered.types import GENERIC, parse_type
from layoutcheck.machine.arch import WARP
from layoutcheck.sources.mlir import Operation, Value
from layoutcheck.sources.traced import LoweredFault

IN_SHARED = "in shared memory: "  # so begins a reason that has nothing to do with tensors in global memory
MEANT = "which is right if the space of several members is used as one"
SIZED = "with the numbers that dynamic extents and integers were given"
TOGETHER = "which is right if the space of several allocations is used as one"
LONG_LOOP = f"{IN_SHARED}a loop around it has more turns than are evaluated, and they do not repeat"
SIDES = ("src", "dst")
MBARRIER_BYTES = 8  # PTX ISA, mbarrier: an opaque 64-bit object
OTHER_BLOCKS = (
    f"{IN_SHARED}its address is made of the block's index, and other blocks take too long to evaluate"
)
_MOST_STEPS = 300_000  # operations of one evaluation
_MOST_BLOCKS = 256  # of a grid that is evaluated whole for what few blocks do
_MOST_ELSEWHERE = 60_000  # of that of other blocks than block 0


@dataclass(slots=True)
class Leaving:
    """The first access on each side of an operation that leaves its allocation, and tags not judged, why.

    `strays` are those that leave a member of a struct, by tag and side, and `reach` how far: the first byte
    and the end, from the member's begin, and the room that it has. `touched` is what is done in each
    allocation. `counted` are the faults, by tag and side, of accesses that run-time numbers decide upon.
    """

    faults: dict[str, list[LoweredFault]] = field(default_factory=dict)
    unchecked: dict[str, str] = field(default_factory=dict)
    strays: dict[tuple[str, int], LoweredFault] = field(default_factory=dict)
    reach: dict[tuple[str, int], tuple[int, int, int]] = field(default_factory=dict)
    touched: dict[Allocation, list[Touch]] = field(default_factory=lambda: defaultdict(list))
    counted: set[tuple[str, str]] = field(default_factory=set)


class _TooLong(Exception):
    """The evaluation takes more steps than it may."""


def leaving(
    kernel: Kernel, widest_bytes: int, boxes: Mapping[str, int], members: Members,
    claimed: Callable[[], Mapping[tuple[str, int], int]],
) -> Leaving:  # fmt: skip
    """Of a kernel; `boxes` are the bytes that an instruction of a TMA copy moves, by tag.

    `claimed` gives the bytes that the views span, where something leaves an allocation.
    """
    found = Leaving()
    if kernel.grid is None:
        return found
    known = allocations(kernel.grid.kernel)
    whole = [Allocation(kernel.shared_bytes, PERIOD)] if kernel.shared_bytes and not known else []
    alone = list(known.values()) or whole  # at 0, as it was evaluated
    turns = _Turns(kernel, mbarriers=True)
    places: Mapping[Operation, Allocation] = {}
    if len(alone) == 1 and not kernel.shortened and not any(map(is_mbarrier, kernel.grid.kernel.walk())):
        for name, op in kernel.lowered_ops.items():
            sure = [(one, guard) for one in op.accesses if (guard := _rests(op.kind_of, one))]
            _add(found, name, sure, alone, op.threads, widest_bytes, boxes.get(name, 0), members)
    elif alone:
        places = far_apart(known) if len(alone) > 1 else {}
        cut = _every(turns, places, list(places.values()) or alone, found, widest_bytes, boxes, members)
        found.unchecked.update(dict.fromkeys(cut, LONG_LOOP))
    else:
        return found
    _mixed(found)
    if len(alone) > 1 and any(found.faults.values()):
        _claimed(turns, known, places, found, widest_bytes, boxes, claimed())
    _without_base(turns, known, found, widest_bytes, boxes)
    _elsewhere(kernel, found, turns, places, list(places.values()) or alone, widest_bytes, boxes)
    _counted(kernel, found, turns, alone, widest_bytes, boxes)
    return found


def _every(
    turns: _Turns, places: Mapping[Operation, Allocation], at: list[Allocation], found: Leaving,
    widest_bytes: int, boxes: Mapping[str, int], members: Members,
) -> frozenset[str]:  # fmt: skip
    """What leaves its allocation with the allocations at these places; the tags of which turns lack."""
    machine, cut = turns.evaluated(places)
    for name, accesses in machine.accesses.items():
        sure = [(one, guard) for one in accesses if (guard := _rests(machine.reasons.worst, one))]
        _add(found, name, sure, at, machine.launch.threads, widest_bytes, boxes.get(name, 0), members)
    return cut


def _claimed(
    turns: _Turns, known: Mapping[Operation, Allocation], places: Mapping[Operation, Allocation],
    found: Leaving, widest_bytes: int, boxes: Mapping[str, int], claims: Mapping[tuple[str, int], int],
) -> None:  # fmt: skip
    """What leaves its allocation as its view's layout spans is a fault only if a value gets lost by it."""
    meant = {
        (name, fault.side)
        for name, faults in found.faults.items()
        for fault in faults
        if fault.kind == "leaves" and claims.get((name, SIDES.index(fault.side)), 0) > fault.other
    }
    if not meant:
        return
    slots = {places[op].start // APART: (one, places[op].start - one.start) for op, one in known.items()}
    touched: list[Touch] = []
    machine, _ = turns.evaluated(places)
    for name, accesses in machine.accesses.items():
        for access in accesses:
            active = addressing(access, machine.launch.threads)
            if not access.reached or not active.any():
                continue
            for side, op, width, address in _in_shared(access, widest_bytes, boxes.get(name, 0)):
                row = np.broadcast_to(np.asarray(address, np.int64), active.shape)
                slot = int(row[active.argmax()]) // APART
                if slot not in slots:
                    continue
                one, apart = slots[slot]
                member = Member(f"{slot}", one.size, one.start, one.size)
                late = op in ("tma.load", "tma.store", BULK_COPY)
                rows = np.unique(row[active]) - apart
                touched.append(Touch(access.number, name, side, rows, width, member, late))
    lost = {*mixed(touched), *overwritten(touched)}
    for name, where in meant:
        if (name, SIDES.index(where)) not in lost:
            fault = next(one for one in found.faults[name] if one.side == where)
            found.faults[name] = [one for one in found.faults[name] if one is not fault]
            found.unchecked.setdefault(name, f"{IN_SHARED}{_touches(fault, TOGETHER)}")


def _without_base(
    turns: _Turns, known: Mapping[Operation, Allocation], found: Leaving, widest_bytes: int,
    boxes: Mapping[str, int],
) -> None:  # fmt: skip
    """Where an allocation begins matters to a fault only if there is none at a multiple of `PERIOD`."""
    based = [one for faults in found.faults.values() for one in faults if one.base]
    if not based:
        return
    there = Leaving()
    places = far_apart({op: replace(one, start=0) for op, one in known.items()})
    _every(turns, places, list(places.values()), there, widest_bytes, boxes, {})
    for name, faults in found.faults.items():
        sides = {one.side for one in there.faults.get(name, ())}
        found.faults[name] = [replace(one, base=0) if one.side in sides else one for one in faults]


def _rests(kind_of: Callable[[int], str], access: Recorded) -> str:
    """How much is sure of an access: "static", "arguments", "sized", or "" if it is not judged.

    Of one that happens as often as an extent says ("arguments") the place is known, if it happens
    (`_counted`). Of one whose place rests on the extents ("sized") its place is known with one.
    """
    guard, place = kind_of(access.guard), kind_of(access.provenance)
    if guard not in ("static", "arguments") or place not in ("static", "arguments"):
        return ""
    return guard if place == "static" else "sized"


def _elsewhere(
    kernel: Kernel, found: Leaving, turns: _Turns, places: Mapping[Operation, Allocation],
    at: list[Allocation], widest_bytes: int, boxes: Mapping[str, int],
) -> None:  # fmt: skip
    """The same for other blocks than block 0, as far as the block's index matters."""
    how = kernel.launch
    if not how.known or math.prod(how.grid) == 1:
        return
    made, guarded = turns.by_block()
    if not made and not guarded:
        return
    ends = (sorted({0, n - 1}) for n in how.grid)
    blocks = edges(how) if made else tuple((x, y, z) for x, y, z in itertools.product(*ends))
    lanes = how.threads % WARP != 0 and any(op.name in BETWEEN_LANES for op in turns.kernel.walk())
    count = math.prod(how.grid)
    try:
        if lanes or how.threads > BLOCK_THREADS:
            raise _TooLong
        machine, _ = turns.run(places, turns.lines, _MOST_ELSEWHERE, blocks)
        left = {name for name in guarded if not machine.met([name])}
        if left and len(blocks) < count <= _MOST_BLOCKS:
            blocks = every_block(how)
            machine, _ = turns.run(places, turns.lines, _MOST_ELSEWHERE, blocks)
    except _TooLong:
        for name in made:
            found.unchecked.setdefault(name, OTHER_BLOCKS)
        return
    if len(blocks) < count:
        found.unchecked.update(dict.fromkeys(left - found.unchecked.keys(), f"{IN_SHARED}{NOT_MET}"))
    there = Leaving()
    total = how.threads * len(blocks)
    for name, accesses in machine.accesses.items():
        sure = [(one, guard) for one in accesses if (guard := _rests(machine.reasons.worst, one))]
        _add(there, name, sure, at, total, widest_bytes, boxes.get(name, 0), {})
    for name, faults in there.faults.items():
        known = {one.side for one in found.faults.get(name, ())}
        for fault in (one for one in faults if one.side not in known):
            number, thread = divmod(fault.thread, how.threads)
            block = str(blocks[number]).replace(" ", "")
            if how.rests == "static":
                told = replace(fault, thread=thread, block=block, base=0)
                found.faults.setdefault(name, []).append(told)
                found.counted.update({(name, fault.side)} & there.counted)
            else:
                where = f"thread {thread} of block {block}, if the grid has one, leaves its allocation"
                found.unchecked.setdefault(name, f"{IN_SHARED}{where}")


def _counted(
    kernel: Kernel, found: Leaving, turns: _Turns, at: list[Allocation], widest_bytes: int,
    boxes: Mapping[str, int],
) -> None:  # fmt: skip
    """Faults of accesses that run-time numbers decide upon are faults only with the least of these, too.

    `if t < n` may keep a kernel inside, and a loop to the turns that have room: the caller gives it no more.
    """
    if not found.counted:
        return
    there = Leaving()
    least = kernel.grid.launch(1, 1) if kernel.grid is not None else None
    if least is not None:
        how = launch_of(turns.kernel, least)
        lanes = how.threads % WARP != 0 and any(op.name in BETWEEN_LANES for op in turns.kernel.walk())
        blocks = ((0, 0, 0),) if lanes else edges(how)
        with suppress(_TooLong):
            machine, _ = turns.run({}, turns.lines, _MOST_ELSEWHERE, blocks, least)
            for name, accesses in machine.accesses.items():
                sure = [(one, guard) for one in accesses if (guard := _rests(machine.reasons.worst, one))]
                total = how.threads * len(blocks)
                _add(there, name, sure, at, total, widest_bytes, boxes.get(name, 0), {})
    for name, side in found.counted:
        if all(one.side != side for one in there.faults.get(name, ())):
            faults = found.faults.pop(name)
            left = [one for one in faults if one.side != side or one.kind != "leaves"]
            found.faults.update({name: left} if left else {})
            fault = next(one for one in faults if one.side == side)
            found.unchecked.setdefault(name, f"{IN_SHARED}{_touches(fault, SIZED)}")


def _touches(fault: LoweredFault, if_: str) -> str:
    return f"it touches byte {fault.address} of an allocation of {fault.other} B, {if_}"


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


def every_turn(kernel: Kernel) -> Machine | None:
    """The kernel's accesses to shared memory in every turn of its loops; None if that takes too long."""
    if kernel.grid is None or kernel.again is None:
        return None
    try:
        machine, flow = _Turns(kernel).run({}, set(), _MOST_STEPS)
    except _TooLong:
        return None
    return None if flow.shortened or machine.dropped else machine


class _Turns:
    """A kernel evaluated for its accesses to shared memory, with every turn of its loops that differs.

    With `mbarriers` what works on these is one as well.
    """

    def __init__(self, kernel: Kernel, mbarriers: bool = False) -> None:
        assert kernel.grid is not None and kernel.again is not None
        self.again, op = kernel.again, kernel.grid.kernel
        self.kernel = op
        self.needed = needed = Needed(op, ())
        self.roots = {one: found for one in op.walk() if (found := _pointers(one, needed, mbarriers))}
        self.loops = {one for one in op.walk() if one.name in ("scf.for", "scf.while")}
        self.lines = {one for one in self.loops if decided_by_corners(one, self.tag, needed, shared=True)}

    def tag(self, op: Operation) -> str:
        """The tag of what may reach shared memory, "" for other operations."""
        return tag(op) if op in self.roots else ""

    def evaluated(self, places: Mapping[Operation, Allocation]) -> tuple[Machine, frozenset[str]]:
        """With the allocations at these places; the tags of which turns lack."""
        try:
            machine, flow = self.run(places, self.lines, _MOST_STEPS)
        except _TooLong:
            machine, flow = self.run(places, self.loops, None)
        cut = [op for op in flow.shortened if op not in self.lines]
        tags = (flow.tags_in(region) for op in cut for region in op.regions)
        return machine, frozenset(machine.dropped).union(*tags)

    def by_block(self) -> tuple[set[str], set[str]]:
        """The tags whose addresses are made of the block's index, and those that it decides upon."""
        by = ByBlock(self.kernel, self.needed)
        made = {tag(op) for op, at in self.roots.items() if any(value in by.values for value in at)}
        return made, {tag(op) for op in self.roots if by.guards(op)}

    def run(
        self, places: Mapping[Operation, Allocation], ends_only: set[Operation], most: int | None,
        blocks: tuple[tuple[int, int, int], ...] = (), launched: Launched | None = None,
    ) -> tuple[Machine, Flow]:  # fmt: skip
        """Raises _TooLong after `most` operations, or where a loop is cut short."""

        def ready(machine: Machine, flow: Flow) -> None:
            def count() -> None:
                if most is not None and (machine.steps > most or CUT_SHORT in machine.notes):
                    raise _TooLong

            machine.placed = places
            flow.consecutive = flow.each_once = True
            flow.ends_only, flow.tick = ends_only, count

        return self.again([(op, at, []) for op, at in self.roots.items()], self.tag, ready, blocks, launched)


def _pointers(op: Operation, needed: Needed, mbarriers: bool) -> list[Value]:
    """An instruction's pointers that may point into shared memory, with the size of a bulk copy."""
    if not tag(op) or not (is_memory(op) or (mbarriers and is_mbarrier(op))):
        return []
    pointers = [
        value
        for value in op.operands
        if (kind := parse_type(value.type)).kind == "pointer"
        and (kind.space in SHARED_SPACES or (kind.space == GENERIC and needed.base(value) is False))
    ]
    return [*pointers, op.operands[BULK[op.name]]] if pointers and op.name in BULK else pointers


def _add(
    found: Leaving, name: str, accesses: list[tuple[Recorded, str]], at: list[Allocation], threads: int,
    widest_bytes: int, box_bytes: int, members: Members,
) -> None:  # fmt: skip
    """The first access on each side that leaves its allocation.

    Beside each access stands how much is sure of it. What may be meant (an epilogue's tile over the
    allocations of several operands) is behind a loop over tiles: with several it is not checked.
    """
    slots = {one.start // APART: one for one in at}
    known = found.faults.get(name, [])
    for access, guard in sorted(accesses, key=lambda one: one[1] != "static"):  # what is sure comes first
        active = addressing(access, threads)
        if not access.reached or not active.any():
            continue
        for side, op, width, address in _in_shared(access, widest_bytes, box_bytes):
            row = np.broadcast_to(np.asarray(address, np.int64), (threads,))
            one = at[0] if len(at) == 1 else slots.get(int(row[active.argmax()]) // APART)
            if one is None:
                continue
            member = members.get((name, 1 if "mbarrier" in op else side))
            if member is not None and member.whole != one.size:
                member = None
            if members and guard == "static":
                late = op in ("tma.load", "tma.store", BULK_COPY)
                rows = np.unique(row[active]) - one.start
                found.touched[one].append(Touch(access.number, name, side, rows, width, member, late))
            if SIDES[side] in {fault.side for fault in known}:
                continue
            wrong = active & ((row < one.start) | (row + width > one.start + one.size))
            if wrong.any():
                thread = int(wrong.argmax())
                fault = LoweredFault(
                    "leaves", SIDES[side], op, "smem", thread, int(row[thread]) - one.start, width,
                    one.size, base=one.start % PERIOD, align=one.align,
                )  # fmt: skip
                if guard == "sized" or (guard != "static" and len(at) > 1):
                    if_ = SIZED if guard == "sized" else TOGETHER
                    found.unchecked.setdefault(name, f"{IN_SHARED}{_touches(fault, if_)}")
                    continue
                if guard != "static":
                    found.counted.add((name, fault.side))
                known = found.faults.setdefault(name, known)
                known.append(fault)
            elif member is not None and guard != "sized":
                start = one.start + member.start
                wrong = active & ((row < start) | (row + width > start + member.size))
                if not wrong.any():
                    continue
                low, high, room = found.reach.get((name, side), (0, 0, member.room))
                low, high = (
                    min(low, int(row[wrong].min()) - start),
                    max(high, int(row[wrong].max()) - start + width),
                )
                found.reach[name, side] = low, high, room
                thread = int(wrong.argmax())
                fault = LoweredFault(
                    "member", SIDES[side], op, "smem", thread, int(row[thread]) - start, width,
                    member.size, mode=member.name,
                )  # fmt: skip
                found.strays.setdefault((name, side), fault)


def _in_shared(
    access: Recorded, widest_bytes: int, box_bytes: int
) -> Iterator[tuple[int, str, int, IntArray | int]]:
    """(side, op, bytes, address) of what an access does in the block's shared memory, or in a peer's."""
    if access.op in ("tma.load", "tma.store", BULK_COPY):
        size = access.size or box_bytes
        for side, space, address in (
            (1, access.space, access.address),
            (0, access.second_space, access.second),
        ):
            if space in ("smem", "dsmem") and size and address is not None:
                side = 0 if access.op == "tma.store" else side
                yield side, access.op, size, spaces.in_object(space, address)[1]
        return
    if "mbarrier" in access.op:
        sides = (1,) if access.op == "mbarrier.init" else (1, 0)
        for side in sides if access.space == "smem" else ():
            yield side, access.op, MBARRIER_BYTES, spaces.in_object(access.space, access.address)[1]
        return
    for side, op, space, width, address in access_parts(access, widest_bytes):
        if space == "smem":
            yield side, op, width, address


def addressing(access: Recorded, threads: int) -> Mask:
    """The threads whose address counts: those of ldmatrix and stmatrix give eight rows a matrix."""
    active = np.ones(threads, bool) if access.active is None else access.active
    if "matrix" not in access.op:
        return active
    rows = 8 * int(access.op.rpartition(".x")[2])
    return active & (np.arange(threads) % 32 < rows)
