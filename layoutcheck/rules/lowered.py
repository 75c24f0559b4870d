"""What the compiler's lowering of a traced copy shows, as findings of the rules that judge layouts.

Where a copy's layouts cannot be followed, its addresses come from the compiler's own passes
(`dsl.lowered`), for the threads of one block, block 0, and the numbers given to dynamic arguments. Only what
holds for every such run, or is a run that goes wrong, is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf
from typing import NamedTuple

import numpy as np

from layoutcheck.analysis.cost import SideCost
from layoutcheck.analysis.vector import NAMES
from layoutcheck.digits import many
from layoutcheck.findings import BY_LOWERING, Finding, Where
from layoutcheck.machine.banks import CP_ASYNC_CG, OFF, wavefronts
from layoutcheck.rules import lc301_bank_conflict as lc301
from layoutcheck.rules import lc302_uncoalesced as lc302
from layoutcheck.rules import rule
from layoutcheck.sources.traced import Addresses, LoweredFault, LoweredSide

_VERBS = {"src": "reads", "dst": "writes"}
_WORD_BYTES = 4  # of a bank


def findings(addresses: Addresses, what: str = "copy") -> Iterator[Finding]:
    """The faults, then what is slow, of a copy or of `what` else it is."""
    yield from (_fault(fault, what) for fault in addresses.faults if fault.kind in _KINDS)
    faulty = {
        fault.side for fault in addresses.faults if not (fault.kind in _KINDS and _KINDS[fault.kind].severity)
    }
    for side in addresses.sides:
        if side.side in faulty:
            continue
        made = _cost(side)
        found = None
        if side.space == "smem" and made.rule != CP_ASYNC_CG and side.wavefronts > side.ideal_wavefronts:
            found = lc301.conflict(made)
            found = replace(found, message=f"{found.message}{_of_longer_rows(made)}")
        elif lc302.scattered(made):
            found = lc302.uncoalesced(made)
        if found is not None:
            message = f"{found.message} {BY_LOWERING}"
            if side.kind == "arguments":
                message += " Dynamic extents and strides were given numbers."
            yield replace(found, message=message, evidence={**found.evidence, "rests_on": side.kind})


def _of_longer_rows(side: SideCost) -> str:
    """What rows of another pitch would make of the worst access, if that is fewer wavefronts; else "".

    The pitch is what the addresses of its lanes have in common, or those of the lanes that conflict.
    """
    worst, at = lc301.worst_access(side), side.addresses[side.worst]
    there = at != OFF
    unit, now = max(_WORD_BYTES, side.width_bits // 8), int(worst.wavefronts)
    for some in (at[there], at[list(worst.lanes)]):
        pitch = int(np.gcd.reduce(some - some.min()))
        if pitch <= side.width_bits // 8:
            continue
        longer = np.where(there, at + (at - at[there].min()) // pitch * unit, OFF)
        then = int(wavefronts(longer[np.newaxis], side.width_bits, side.rule).wavefronts[0])
        if then < now:
            return (
                f" Rows of {pitch + unit} B instead of {pitch} B would take {many(then, 'wavefront')} there "
                f"instead of {now}; a swizzle may help, too. `layoutcheck trace --fix SCRIPT` tries both."
            )
    return ""


_NARROW = {"LC303": "provable_bits", "LC307": "asked_bits"}
"""Rules of accesses that are narrower than they may be, and what of their evidence says how wide."""


def settled(finding: Finding, addresses: Addresses) -> bool:
    """Whether it is a cost that the compiler's wider instructions do not have, or have in another measure."""
    sides = [side for side in addresses.sides if finding.where.operand in (None, side.side)]
    if finding.code == "LC301":
        return any(side.width_bits > finding.evidence["width_bits"] for side in sides)
    bits = finding.evidence[_NARROW[finding.code]] if finding.code in _NARROW else inf
    return bool(sides) and all(side.width_bits >= bits for side in sides)


def _cost(side: LoweredSide) -> SideCost:
    """The side as the cost rules take it: of its addresses only the worst warp instruction's are kept."""
    return SideCost(
        side.side, side.op, side.space, side.width_bits, side.instructions, np.array([side.lanes], np.int64),
        side.wavefronts, side.ideal_wavefronts, side.ways, 0, side.sectors, side.ideal_sectors,
        side.bytes_used,
    )  # fmt: skip


def _fault(fault: LoweredFault, what: str) -> Finding:
    kind = _KINDS[fault.kind]
    title, message = kind.tell(fault, what)
    judged = rule(kind.code)
    evidence = {
        "op": fault.op, "address": fault.address, "width_bytes": fault.width_bytes, "thread": fault.thread,
        "space": fault.space,
    }  # fmt: skip
    if kind.other:
        evidence[kind.other] = fault.other
    if fault.block:
        evidence["block"] = fault.block
    if fault.shifted:
        evidence["shifted"] = True
    return Finding(
        judged.code,
        kind.severity or judged.severity,
        title,
        f"{message} {BY_LOWERING}",
        Where(fault.side, None, fault.thread),
        evidence,
    )


def _accesses(fault: LoweredFault) -> str:
    """The access, as "reads 16 B at byte 32"."""
    return f"{_VERBS[fault.side]} {fault.width_bytes} B at byte {fault.address}"


def _misaligned(fault: LoweredFault, what: str) -> tuple[str, str]:
    width, at = fault.width_bytes, fault.address
    memory = "shared memory" if fault.space == "smem" else "its tensor"
    return (
        f"an access of {width} B to the {NAMES[fault.side]} is not aligned: the kernel faults",
        f"Thread {fault.thread}'s {fault.op} is {at % width} B past a multiple of {width} B (byte {at} of {memory}).",
    )


_KEPT = "neither a predicate nor a condition nor the grid keeps it from that"


def _beyond(fault: LoweredFault, what: str) -> tuple[str, str]:
    title = f"the {what} {_VERBS[fault.side]} outside the tensor that the kernel was given"
    access = f"thread {fault.thread} of block {fault.block} {_accesses(fault)} of a tensor of {fault.other} B"
    if fault.overflows:
        return (
            f"{title}: its 32-bit offset overflows",
            f"The offset is computed in 32 bits, which hold 2^31 elements, and overflows: {access}. With a dynamic "
            "pitch of 64 bits (cute.sym_int64), or coordinates of cutlass.Int64, it is computed in 64 bits.",
        )
    message = f"T{access[1:]}, and {_KEPT}.{_called(fault)}"
    if fault.extent:
        message += " It leaves the tensor with all dynamic extents that were tried, small and large."
    return title, message


def _mode(fault: LoweredFault, what: str) -> tuple[str, str]:
    verb = _VERBS[fault.side]
    tried = ", with all dynamic extents that were tried" if fault.extent else ""
    return (
        f"the {what} {verb} outside a mode of the tensor that the kernel was given",
        f"Thread {fault.thread} of block {fault.block} {verb} {fault.width_bytes} B at index {fault.coordinate} of "
        f"mode {fault.mode}, which has {fault.other}{tried}. In the tensor's memory (byte {fault.address}) another "
        f"coordinate's element is there, and {_KEPT}.{_called(fault)}",
    )


def _called(fault: LoweredFault) -> str:
    return f" The program calls the kernel so, with {fault.called}." if fault.called else ""


def _leaves(fault: LoweredFault, what: str) -> tuple[str, str]:
    title = f"the {what} {_VERBS[fault.side]} outside its own allocation in shared memory"
    if fault.base:
        return (
            f"{title}: its swizzle's pattern begins elsewhere",
            f"The allocation is aligned to {fault.align} B, and a swizzle permutes absolute addresses. The "
            f"compiler puts the allocation {fault.base} B past a multiple of 1024, so that thread "
            f"{fault.thread} {_accesses(fault)} of its {fault.other} B. "
            "Allocate it with byte_alignment=1024.",
        )
    block = f" of block {fault.block}" if fault.block else ""
    return (
        title,
        f"Thread {fault.thread}{block} {_accesses(fault)} of an allocation of {fault.other} B: another allocation "
        "may lie there.",
    )


def _left(fault: LoweredFault, what: str) -> tuple[str, str]:
    counts = f"{fault.other:,} of its {fault.coordinate:,} elements"
    where = fault.mode or f"{counts}, from byte {fault.address} on"
    why = (
        f"A predicate keeps thread {fault.thread} of block {fault.block} from the one at byte {fault.address}, which is inside the tensor."
        if fault.block else f"The first is at byte {fault.address}."
    )  # fmt: skip
    return (
        f"a kernel of {fault.called} blocks writes only a part of the tensor: nothing at {where}",
        f"No block of the grid writes {counts}. {why} If another kernel writes them, or they are to keep what they hold, this is right.",
    )


def _unread(fault: LoweredFault, what: str) -> tuple[str, str]:
    return (
        f"a kernel of {fault.called} blocks reads only a part of the tensor: nothing at {fault.mode}",
        f"No block of the grid reads {fault.other:,} of its {fault.coordinate:,} elements: one tile of a loop that goes over this mode. If it begins a turn too late, or ends a turn too early, the result lacks them.",
    )


class _Kind(NamedTuple):
    """A kind of fault: its rule, what `LoweredFault.other` is in the evidence, title and message.

    `severity` is its own, where it is not the rule's: "unknown" of a doubt.
    """

    code: str
    other: str
    tell: Callable[[LoweredFault, str], tuple[str, str]]
    severity: str = ""


def _said(title: str, message: str) -> Callable[[LoweredFault, str], tuple[str, str]]:
    """Title and message of a fault `f` in these words, for the copy or `what` else it is."""

    def tell(fault: LoweredFault, what: str) -> tuple[str, str]:
        both = f"Threads {fault.thread} and {fault.other} write {fault.width_bytes} B at byte {fault.address} of shared memory"
        words = {
            "f": fault,
            "what": what,
            "verb": _VERBS[fault.side],
            "accesses": _accesses(fault),
            "both": both,
        }
        return title.format(**words), message.format(**words)

    return tell


_KINDS = {
    "misaligned": _Kind("LC202", "", _misaligned),
    "outside": _Kind("LC204", "shared_bytes", _said(
        "the {what} {verb} outside the block's shared memory",
        "Thread {f.thread}'s {f.op} {accesses} of the {f.other} B that the kernel allocates.",
    )),
    "beyond": _Kind("LC204", "tensor_bytes", _beyond),
    "mode": _Kind("LC204", "mode_extent", _mode),
    "leaves": _Kind("LC204", "allocation_bytes", _leaves),
    "member": _Kind("LC204", "member_bytes", _said(
        "the {what} {verb} outside its own member of a struct in shared memory",
        "Thread {f.thread} {accesses} of member {f.mode}, which has {f.other} B. There a value goes from one member to another: the bytes are used through member {f.called} too.",
    )),
    "padding": _Kind("LC204", "member_bytes", _said(
        "the {what} {verb} behind its own member of a struct in shared memory, in padding",
        "Thread {f.thread} {accesses} of member {f.mode}, which has {f.other} B. No member has the bytes up to {f.coordinate}: the alignment of the next one, or of the struct, leaves them free. If a member grows or moves, another one's data are there.",
    ), "note"),
    "unwritten": _Kind("LC203", "unwritten_bytes", _said(
        "some threads of the {what} never reach it, and what they would write is read",
        "Thread {f.thread} of the tiled copy never reaches the copy. Of the bytes that such threads would write {f.other} are read, from byte {f.address} of shared memory on, and nothing in the kernel writes them.",
    )),
    "left": _Kind("LC203", "left_elements", _left, "note"),
    "unread": _Kind("LC203", "left_elements", _unread, "note"),
    "race": _Kind("LC210", "other_thread", _said(
        "several threads write different data to the same bytes", "{both}, from different sources."
    )),
    "contested": _Kind("LC210", "other_thread", _said(
        "several threads write the same bytes, and their values are not followed",
        "{both}. It is a race unless they write the same.",
    ), "unknown"),
    "turns": _Kind("LC210", "other_thread", _said(
        "threads of several warps write different data to the same bytes, perhaps in turns",
        "{both}, from different sources. The kernel has barriers at which some of its warps wait: it is a race unless they order the two.",
    ), "unknown"),
}  # fmt: skip
