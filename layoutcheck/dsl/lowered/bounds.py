"""Accesses outside of the tensors that a kernel is given.

Tensors are judged in the blocks at the edges of the grid, and only where everything is known: the tensor's
type says its extents and strides, the grid is the host's, and neither the address nor the predicate rests on
more than threads, blocks and loop counters. A missing predicate, one of another mode or one for several
elements is told by block, thread and byte. Dynamic extents are given numbers (`extents`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from layoutcheck.dsl.lowered import Kernel
from layoutcheck.dsl.lowered.arguments import Numbers
from layoutcheck.dsl.lowered.conditions import Bounds, leaves_by
from layoutcheck.dsl.lowered.extents import Tried
from layoutcheck.dsl.lowered.grid import IN_GRID, LONG_LOOP, RUN_TIME, TOO_LONG
from layoutcheck.dsl.lowered.judged_blocks import LOADED, NOT_MET, Judged
from layoutcheck.dsl.lowered.lowered_op import LoweredOp, global_parts
from layoutcheck.dsl.lowered.modes import judged_in_modes
from layoutcheck.dsl.lowered.overflows import least_integer
from layoutcheck.sources.traced import KEPT, LoweredFault

UNUSED = "whether it uses what it reads of another coordinate"
RELATED = "how the dynamic extents relate is not known"
_MOST_CALLS = 8  # of a kernel that are evaluated
_MOST_HELD = 4  # the same for what their tensors hold
_BY_CONTENTS = (LOADED, NOT_MET, TOO_LONG, LONG_LOOP, IN_GRID)  # what they may tell
_NEVER = 1 << 63
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
    for tag in _written_whole(found, known) if len(known) == len(numbers) else ():
        del found.unwritten[tag]
    for tag in found.kept & found.unchecked.keys():
        if found.unchecked[tag].startswith((RUN_TIME, RELATED, *_BY_CONTENTS)):
            found.unchecked[tag] += f"; {KEPT}"
    return found


def _written_whole(found: Bounds, calls: Sequence[Numbers]) -> list[str]:
    """The stores that write their tensor's last element in all calls."""
    extents = [extent for call in calls for extent in call.extents]
    return [tag for tag, (number, _) in found.unwritten.items() if not any(one % number for one in extents)]


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
    tried = Tried(kernel, kernel.grid, widest_bytes, *promise) if promise else None
    first = judged_in_modes(kernel, tags, whole, widest_bytes, counted=True)
    known = [one for one in first.values() if isinstance(one, Judged)]
    begun = set().union(*(one.begins for one in known))
    for one in known if len(known) == len(first) and not found.unchecked else ():
        if begun.isdisjoint(one.left):
            one.faults = [replace(f, shifted=(f.kind, f.side) == ("beyond", "dst")) for f in one.faults]
    for tag, one in first.items():
        if isinstance(one, str):
            found.unchecked[tag] = one
            continue
        found.inside[tag] = {one.run: one.stays}
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
        tried.with_tails(found, open_, strays, first)
    for tag, stray in strays.items():
        found.unchecked.setdefault(tag, f"{UNUSED}: {leaves_by(stray)}")
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
