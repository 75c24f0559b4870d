"""What is found of accesses to global memory, and what the caller has to keep so that they stay inside."""

from __future__ import annotations

from dataclasses import dataclass, field

from layoutcheck.sources.evaluated import Evaluated, Inside
from layoutcheck.sources.traced import KEPT, SMALLER, TOO_MANY, LoweredFault

REPAIR = "a pitch of cute.sym_int64, or coordinates of cutlass.Int64, lift the limit"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Accesses to tensors, by tag. `judged` are all but those whose addresses only a run knows.

    `faults` leave one; `unchecked` are not judged, for the reason given. Those in `multiple` stay inside if
    every dynamic extent is a multiple of that number (0: no such number was found), and not with the fault.
    The 32-bit offsets of those in `overflows` overflow if every dynamic extent is that number, or larger.
    `modes` are the multiples of those in `multiple` mode by mode, where that is known, `tried` the extents by
    mode with which these left their tensor, where they were not alike. Those in `unequal` leave a tensor of
    these extents, by mode, with the fault. Those in `others` leave a tensor of the first extents while all
    others have the second. Those in `unwritten` write their tensor's last element only if every dynamic
    extent is a multiple of the first number, not with the second. Those in `kept` stay inside in all calls
    that the program makes.
    `inside` counts the bytes of accesses that stay in their tensor's memory and within its modes, by tag and
    by what was evaluated.
    """

    judged: set[str] = field(default_factory=set)
    faults: dict[str, list[LoweredFault]] = field(default_factory=dict)
    unchecked: dict[str, str] = field(default_factory=dict)
    multiple: dict[str, tuple[int, LoweredFault]] = field(default_factory=dict)
    overflows: dict[str, int] = field(default_factory=dict)
    modes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    tried: dict[str, tuple[int, ...]] = field(default_factory=dict)
    unequal: dict[str, tuple[tuple[int, ...], LoweredFault]] = field(default_factory=dict)
    others: dict[str, tuple[int, int]] = field(default_factory=dict)
    unwritten: dict[str, tuple[int, int]] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    inside: dict[str, dict[Evaluated, Inside]] = field(default_factory=dict)


def conditions(found: Bounds) -> dict[str, str]:
    """What the caller has to keep so that accesses stay in their tensors, by tag, and what happens if not."""
    told = {
        tag: _tail(*one, found.modes.get(tag, ()), found.tried.get(tag, ()))
        for tag, one in found.multiple.items()
    }
    for tag, (extents, fault) in found.unequal.items():
        told[tag] = f"the dynamic extents have to be equal: {leaves_by(fault, ' x '.join(map(str, extents)))}"
    for tag, (own, others) in found.others.items():
        told[tag] = f"{SMALLER}: with {own} beside {others} it is left"
    for tag, extent in found.overflows.items():
        few = (
            f"{TOO_MANY} more than 2^31 elements (all dynamic extents below {extent}): offsets have "
            f"32 bits; {REPAIR}"
        )
        told[tag] = f"{told[tag]}; {few}" if tag in told else few
    told = {tag: f"{text}; {KEPT}" if tag in found.kept else text for tag, text in told.items()}
    for tag, (multiple, extent) in found.unwritten.items():
        ends = f"with {extent} no block writes the tensor's last element"
        few = f"{ends}; it does if every dynamic extent is a multiple of {multiple}"
        told[tag] = f"{told[tag]}; {few}" if tag in told else few
    return told


def _tail(multiple: int, fault: LoweredFault, modes: tuple[int, ...], tried: tuple[int, ...]) -> str:
    what = f"a multiple of {multiple}" if multiple else f"other than {fault.extent}"
    needed = f"every dynamic extent has to be {what}"
    if max(modes, default=1) > 1:
        parts = [f"of {number} in mode {i}" for i, number in enumerate(modes) if number > 1]
        needed = f"the dynamic extents have to be multiples {' and '.join(parts)}"
    return f"{needed}: {leaves_by(fault, ' x '.join(map(str, tried)))}"


def leaves_by(fault: LoweredFault, extents: str = "") -> str:
    """Which thread reads or writes how many bytes where, with these extents."""
    verb = {"src": "reads", "dst": "writes"}[fault.side]
    where = f"at byte {fault.address} of {fault.other}"
    if fault.kind == "mode":
        where = f"at index {fault.coordinate} of mode {fault.mode}, which has {fault.other}"
    who = f"thread {fault.thread} of block {fault.block}"
    given = extents or (str(fault.extent) if fault.extent else "")
    return f"{f'with {given} ' if given else ''}{who} {verb} {fault.width_bytes} B {where}"
