"""Addresses of a kernel's operations that cannot be right, and what the others cost.

Faults are claimed only where address, execution and source rest on threads, loop counters and, for alignment,
on numbers for dynamic arguments; costs also where a whole warp shares a value loaded at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from layoutcheck.analysis.cost import SideCost, accesses_cost
from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.lowered import Kernel, Lowered, argument_types
from layoutcheck.dsl.lowered.arguments import Numbers
from layoutcheck.dsl.lowered.bounds import tensor_bounds
from layoutcheck.dsl.lowered.calls import Call, numbers_of, unwritten
from layoutcheck.dsl.lowered.conditions import conditions
from layoutcheck.dsl.lowered.costs import side_costs
from layoutcheck.dsl.lowered.covered import left_out
from layoutcheck.dsl.lowered.covered_reads import unread
from layoutcheck.dsl.lowered.evaluate import evaluate_kernel
from layoutcheck.dsl.lowered.instructions import transfers
from layoutcheck.dsl.lowered.judged_blocks import object_of
from layoutcheck.dsl.lowered.lowered_op import LoweredOp, access_parts, lowered_ops, memory_accesses
from layoutcheck.dsl.lowered.races import SURE, contested, race, takes_turns
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.dsl.lowered.shared_access import addressing
from layoutcheck.dsl.lowered.shared_bounds import leaving
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.dsl.lowered.views import SharedViews
from layoutcheck.machine.arch import parse_arch
from layoutcheck.machine.sectors import sectors
from layoutcheck.rules.lc302_uncoalesced import scattered
from layoutcheck.sources.evaluated import Evaluated, Inside
from layoutcheck.sources.traced import Addresses, LoweredFault, LoweredSide

KNOWN = (*SURE, "uniform")
_ODD = 4097
_READS = ("ld", "load", "prefetch")
_NO_ORDER = "its tensor's type does not say which mode is contiguous, and no call of the program does"


class Beside(list[LoweredOp]):
    """Operations that the compiler may join with one another; `costs` of what it makes of them."""

    def __init__(self) -> None:
        super().__init__()
        self.costs: dict[tuple[str, int], list[SideCost]] = {}


def addresses(
    copy: Copy | None, kernel: Kernel, op: LoweredOp, arch: str, written: Sequence[Recorded] = (),
    beside: Beside | None = None,
) -> Addresses:  # fmt: skip
    """What an operation does; `beside` it are those that it may be joined with.

    Where it is numbers of ours that say which of a tensor's elements are adjacent, only a call of the program
    tells what it costs.
    Raises InputError for an unknown architecture.
    """
    guessed = {base for base, tensor in kernel.launch.tensors.items() if tensor.any_order}
    sides: list[LoweredSide] = []
    untold = ""
    for side in side_costs(op, arch):
        kind = _kind(side, op)
        if kind not in KNOWN or (kind != "static" and not op.reached):
            continue
        if kind == "uniform" and side.space == "gmem":
            side = _apart(side)
        ours = side.space == "gmem" and any(object_of(one, side.side == "dst") in guessed for one in op.once)
        called = None
        if ours or (kind == "arguments" and _wastes(side)):
            called = _as_called(side, kernel, op.tag, arch)
        if not ours and (called is None or _wastes(called)):
            called = side
        if called is None:
            untold = _NO_ORDER
        else:
            sides.append(_side(_joined(called, op, beside or Beside()), kind))
    return Addresses(op.threads, tuple(sides), tuple(_faults(copy, kernel, op, arch, written)), untold)


def _side(side: SideCost, kind: str) -> LoweredSide:
    lanes = tuple(map(int, side.addresses[side.worst])) if len(side.addresses) else ()
    return LoweredSide(
        side.side, side.op, side.space, side.width_bits, kind, side.instructions, side.wavefronts,
        side.ideal_wavefronts, side.ways, side.worst, side.sectors, side.ideal_sectors, side.bytes_used,
        lanes,
    )  # fmt: skip


def _apart(side: SideCost) -> SideCost:
    """The side without what lanes cost that copy the same bytes to several lines (cp.async past L1).

    It rests on a number of ours that they do: a gather beyond the length that was taken reads row 0 alone.
    """
    return side._replace(sectors=int(sectors(side.addresses, side.width_bits).sectors.sum()))


def _as_called(side: SideCost, kernel: Kernel, tag: str, arch: str) -> SideCost | None:
    """The side with the numbers of the program's call, where there is one: the best, if several are alike."""
    if (again := kernel.called().get(tag)) is None:
        return None
    others = (one for one in side_costs(again, arch) if (one.side, one.op) == (side.side, side.op))
    several = [one for one in others if ((one.addresses >= 0).sum(axis=1) > 1).any()]  # not one lane alone
    return min(several, key=_wastes, default=None)


def _joined(side: SideCost, op: LoweredOp, beside: Beside) -> SideCost:
    """A side in shared memory with conflicts, as it is once LLVM has joined `op` with those `beside` it."""
    if side.space != "smem" or side.wavefronts <= side.ideal_wavefronts or len(beside) < 2:
        return side
    every = beside.costs.get((side.side, op.threads))
    if every is None:
        alike = (access for one in beside if one.threads == op.threads for access in one.once)
        wide = memory_accesses(tuple(alike), op.threads, joined=True)[side.side == "dst"]
        every = [accesses_cost((one,), ()).sides[0]._replace(side=side.side) for one in wide]
        beside.costs[side.side, op.threads] = every
    costs = [one for one in every if one.op == side.op]
    widest = max(costs, key=lambda cost: cost.width_bits, default=side)
    free = all(cost.wavefronts == cost.ideal_wavefronts for cost in costs)
    return widest if widest.width_bits > side.width_bits and (free or len(costs) == 1) else side


def _wastes(side: SideCost) -> bool:
    return side.wavefronts > side.ideal_wavefronts or scattered(side)


def in_call(kernel: Kernel, call: Numbers) -> dict[str, LoweredOp]:
    """A kernel's operations with a call's numbers, by tag; none where its launch is not known."""
    grid = kernel.grid
    launched = None if grid is None else grid.launch(replace(call, contents=()))
    if grid is None or launched is None:
        return {}
    return lowered_ops(evaluate_kernel(grid.kernel, launched, grid.types.get(kernel.name, [])))


def in_turns(kernel: Kernel) -> Iterator[tuple[bool, dict[str, LoweredOp]]]:
    """A kernel's operations, by tag, with two turns of each loop that ends by what only a run knows.

    Of block 0, and of the one that follows it along all axes: True. Of block 0 with an odd number for all
    integer arguments, which a caller need not give: False.
    """
    grid = kernel.grid
    given = [] if grid is None else [(True, grid.launch(None)), (False, grid.launch(None, _ODD))]
    for sure, launched in given:
        if grid is None or launched is None:
            continue
        how, arguments = launched
        x, y, z = (min(1, size - 1) for size in how.grid)
        for at in dict.fromkeys(((0, 0, 0), (x, y, z) if sure else (0, 0, 0))):
            placed, types = (replace(how, index=at), arguments), grid.types.get(kernel.name, [])
            yield sure, lowered_ops(evaluate_kernel(grid.kernel, placed, types, least_turns=2))


def _kind(side: SideCost, op: LoweredOp) -> str:
    """What the addresses on one side rest on."""
    provenance = 0
    for access in op.once:
        if access.space == side.space:
            provenance |= access.provenance
        if access.second_space == side.space:
            provenance |= access.second_provenance
    return op.kind_of(provenance)


def _faults(
    copy: Copy | None, kernel: Kernel, op: LoweredOp, arch: str, written: Sequence[Recorded]
) -> Iterator[LoweredFault]:
    """The first of each kind and side."""
    if not op.reached:
        return
    found: dict[tuple[str, str], LoweredFault] = {}
    widest = parse_arch(arch).widest_access_bits // 8
    for access in op.accesses:
        for side, instruction, space, width, address in access_parts(access, widest):
            own = access.second_provenance if space == access.second_space else access.provenance
            kind = op.kind_of(own | access.guard)
            row = for_all(address, op.threads)
            active = addressing(access, op.threads)
            name = ("src", "dst")[side]
            wrong = active & (row % width != 0)
            if space in ("gmem", "smem") and kind in SURE and wrong.any():
                thread = int(wrong.argmax())
                fault = LoweredFault("misaligned", name, instruction, space, thread, int(row[thread]), width)
                found.setdefault(("misaligned", name), fault)
            wrong = active & ((row < 0) | (row + width > kernel.shared_bytes))
            if space == "smem" and kind == "static" and kernel.shared_bytes and wrong.any():
                thread = int(wrong.argmax())
                fault = LoweredFault(
                    "outside", name, instruction, space, thread, int(row[thread]), width, kernel.shared_bytes
                )
                found.setdefault(("outside", name), fault)
    met = race(copy, op, written)
    if met is not None and met.kind == "race" and kernel.grid is not None and takes_turns(kernel.grid.kernel):
        met = race(copy, op, written, turns=True)
    if met is not None:
        found[met.kind, "dst"] = met
    yield from found.values()


@dataclass(frozen=True, slots=True)
class Outside:
    """Accesses outside of a tensor or of a shared allocation, by tag, with the threads of the block.

    `unchecked` are the tags whose bounds in global memory are not judged, with the reason, `conditions` those
    whose bounds hold if the caller keeps one. `inside` is that of `Bounds`.
    """

    faults: dict[str, tuple[int, list[LoweredFault]]] = field(default_factory=dict)
    unchecked: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, str] = field(default_factory=dict)
    inside: dict[str, dict[Evaluated, Inside]] = field(default_factory=dict)


def outside(lowered: Lowered, arch: str, text: str, calls: Iterable[Call | None] = ()) -> Outside:
    """Of all kernels of a lowered module, `text` as traced; `calls` are those that the program makes."""
    found = Outside()
    numbers = numbers_of(calls, argument_types(text), [kernel.name for kernel in lowered.kernels])
    numbers = unwritten(numbers, {at for kernel in lowered.kernels for at in _written(kernel)})
    widest = parse_arch(arch).widest_access_bits // 8
    boxes, views = transfers(text), SharedViews(text)
    for kernel in lowered.kernels:
        threads = kernel.launch.threads
        bounds = tensor_bounds(kernel, widest, numbers)
        found.faults.update((tag, (threads, faults)) for tag, faults in bounds.faults.items() if faults)
        found.unchecked.update(bounds.unchecked)
        found.conditions.update(conditions(bounds))
        found.inside.update(bounds.inside)
        left = leaving(kernel, widest, boxes, views)
        for tag, why in left.unchecked.items():
            found.unchecked.setdefault(tag, why)
        for tag, faults in left.faults.items():
            found.faults.setdefault(tag, (threads, []))[1].extend(faults)
        if not any(tag in found.faults for tag in kernel.lowered_ops):
            told = left_out(kernel, widest) or unread(kernel, widest)
            found.faults.update((tag, (threads, [one])) for tag, one in told.items())
    return found


def _written(kernel: Kernel) -> set[int]:
    """The objects in global memory that a kernel writes, or may write."""
    every = (access for op in kernel.lowered_ops.values() for access in op.accesses)
    return {object_of(one, 1) for one in every if one.space == "gmem" and not one.op.startswith(_READS)}


def with_faults(was: Addresses, faults: list[LoweredFault]) -> Addresses:
    """With faults more; one that leaves the block's memory is not told of its allocation as well."""
    beyond = {fault.side for fault in was.faults if fault.kind == "outside"}
    more = [fault for fault in faults if fault.kind != "leaves" or fault.side not in beyond]
    return replace(was, faults=(*was.faults, *more))


def written(lowered: Lowered, copies: Mapping[str, Copy | None]) -> dict[str, list[Recorded]]:
    """What the stores write of copies, by tag, by whose registers two threads meet in one byte."""
    found: dict[str, list[Recorded]] = {}
    for kernel in lowered.kernels:
        ops = {tag: op for tag, op in kernel.lowered_ops.items() if tag in copies and op.kind in KNOWN}
        met = [tag for tag, op in ops.items() if op.reached and contested(copies[tag], op)]
        if met:
            found |= kernel.contents(met)
    return found
