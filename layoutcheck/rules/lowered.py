"""What the compiler's lowering of a traced copy shows, as findings of the rules that judge layouts.

Where a copy's layouts cannot be followed, its addresses come from the compiler's own passes
(`dsl.lowered`), for the threads of one block, block 0, and the numbers given to dynamic arguments. Only what
holds for every such run, or is a run that goes wrong, is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from layoutcheck.analysis.cost import SideCost
from layoutcheck.analysis.vector import NAMES
from layoutcheck.findings import Finding, Where
from layoutcheck.machine.banks import CP_ASYNC_CG
from layoutcheck.rules import lc301_bank_conflict as lc301
from layoutcheck.rules import lc302_uncoalesced as lc302
from layoutcheck.rules import rule
from layoutcheck.sources.traced import Addresses, LoweredFault, LoweredSide

_BY = "The addresses come from the compiler's own lowering, for all threads of a block."
_CODES = {
    "misaligned": "LC202",
    "outside": "LC204",
    "beyond": "LC204",
    "mode": "LC204",
    "leaves": "LC204",
    "member": "LC204",
    "unwritten": "LC203",
    "race": "LC210",
    "contested": "LC210",
    "turns": "LC210",
}
_OTHER = {
    "outside": "shared_bytes",
    "beyond": "tensor_bytes",
    "mode": "mode_extent",
    "leaves": "allocation_bytes",
    "member": "member_bytes",
    "unwritten": "unwritten_bytes",
    "race": "other_thread",
    "contested": "other_thread",
    "turns": "other_thread",
}
_DOUBTS = ("contested", "turns")
_VERBS = {"src": "reads", "dst": "writes"}


def findings(addresses: Addresses, what: str = "copy") -> Iterator[Finding]:
    """The faults, then what is slow, of a copy or of `what` else it is."""
    yield from (_fault(fault, what) for fault in addresses.faults if fault.kind in _CODES)
    faulty = {fault.side for fault in addresses.faults if fault.kind not in _DOUBTS}
    for side in addresses.sides:
        if side.side in faulty:
            continue
        made = _cost(side)
        found = None
        if side.space == "smem" and made.rule != CP_ASYNC_CG and side.wavefronts > side.ideal_wavefronts:
            found = lc301.conflict(made)
        elif lc302.scattered(made):
            found = lc302.uncoalesced(made)
        if found is not None:
            message = f"{found.message} {_BY}"
            if side.kind == "arguments":
                message += " Dynamic extents and strides were given numbers."
            yield replace(found, message=message, evidence={**found.evidence, "rests_on": side.kind})


def _cost(side: LoweredSide) -> SideCost:
    """The side as the cost rules take it: of its addresses only the worst warp instruction's are kept."""
    return SideCost(
        side.side, side.op, side.space, side.width_bits, side.instructions, np.array([side.lanes], np.int64),
        side.wavefronts, side.ideal_wavefronts, side.ways, 0, side.sectors, side.ideal_sectors,
        side.bytes_used,
    )  # fmt: skip


def _fault(fault: LoweredFault, what: str) -> Finding:
    name, width, at = NAMES[fault.side], fault.width_bytes, fault.address
    verb = _VERBS[fault.side]
    if fault.kind == "misaligned":
        title = f"a {width} B access to the {name} is not aligned: the kernel faults"
        message = (
            f"Thread {fault.thread}'s {fault.op} is {at % width} B past a {width} B boundary (byte {at} of "
            f"{'shared memory' if fault.space == 'smem' else 'its tensor'})."
        )
    elif fault.kind == "outside":
        title = f"the {what} {verb} outside the block's shared memory"
        message = (
            f"Thread {fault.thread}'s {fault.op} {verb} {width} B at byte {at} of the {fault.other} B "
            "that the kernel allocates."
        )
    elif fault.kind == "beyond":
        title = f"the {what} {verb} outside the tensor that the kernel was given"
        message = (
            f"Thread {fault.thread} of block {fault.block} {verb} {width} B at byte {at} of a tensor of "
            f"{fault.other} B, and no predicate prevents it."
        )
        if fault.called:
            message += f" The program calls the kernel so, with {fault.called}."
        if fault.extent:
            message += " It leaves the tensor with all dynamic extents that were tried, small and large."
        if fault.overflows:
            title += ": its 32-bit offset overflows"
            message = (
                f"The offset is computed in 32 bits, which hold 2^31 elements, and overflows: thread {fault.thread} "
                f"of block {fault.block} {verb} {width} B at byte {at} of a tensor of {fault.other} B. With a "
                "dynamic pitch of 64 bits (cute.sym_int64), or coordinates of cutlass.Int64, it is computed in 64 bits."
            )
    elif fault.kind == "mode":
        title = f"the {what} {verb} outside a mode of the tensor that the kernel was given"
        tried = ", with all dynamic extents that were tried" if fault.extent else ""
        message = (
            f"Thread {fault.thread} of block {fault.block} {verb} {width} B at index {fault.coordinate} of mode "
            f"{fault.mode}, which has {fault.other}{tried}. In the tensor's memory (byte {at}) another coordinate's "
            "element is there, and no predicate prevents it."
        )
    elif fault.kind == "leaves":
        title = f"the {what} {verb} outside its own allocation in shared memory"
        message = (
            f"Thread {fault.thread}{f' of block {fault.block}' if fault.block else ''} {verb} {width} B at byte "
            f"{at} of an allocation of {fault.other} B: "
            "another allocation may lie there."
        )
        if fault.base:
            title += ": its swizzle's pattern begins elsewhere"
            message = (
                f"The allocation is aligned to {fault.align} B, and a swizzle permutes absolute addresses. Where "
                f"the allocation begins {fault.base} B past a multiple of 1024, as some order of the kernel's "
                f"allocations has it, thread {fault.thread} {verb} {width} B at byte {at} of its {fault.other} B. "
                "Allocate it with byte_alignment=1024."
            )
    elif fault.kind == "member":
        title = f"the {what} {verb} outside its own member of a struct in shared memory"
        message = (
            f"Thread {fault.thread} {verb} {width} B at byte {at} of member {fault.mode}, which has {fault.other} B. "
            f"There a value goes from one member to another: the bytes are used through member {fault.called} too."
        )
    elif fault.kind == "unwritten":
        title = f"threads of the {what} do not come by, and what they would write is read"
        message = (
            f"Thread {fault.thread} of the tiled copy is no thread that comes by. Of the bytes that such threads would "
            f"write {fault.other} are read, from byte {at} of shared memory on, and nothing in the kernel writes them."
        )
    elif fault.kind == "contested":
        title = "several threads write the same bytes, and their values are not followed"
        message = (
            f"Threads {fault.thread} and {fault.other} write {width} B at byte {at} of shared memory. It is a race "
            "unless they write the same."
        )
    elif fault.kind == "turns":
        title = "threads of several warps write different data to the same bytes, perhaps in turns"
        message = (
            f"Threads {fault.thread} and {fault.other} write {width} B at byte {at} of shared memory, from "
            "different sources. The kernel has barriers at which some of its warps wait: it is a race unless "
            "they order the two."
        )
    else:
        title = "several threads write different data to the same bytes"
        message = (
            f"Threads {fault.thread} and {fault.other} write {width} B at byte {at} of shared memory, from "
            "different sources."
        )
    judged = rule(_CODES[fault.kind])
    evidence = {
        "op": fault.op, "address": at, "width_bytes": width, "thread": fault.thread, "space": fault.space,
    }  # fmt: skip
    if fault.kind != "misaligned":
        evidence[_OTHER[fault.kind]] = fault.other
    if fault.block:
        evidence["block"] = fault.block
    return Finding(
        judged.code,
        "unknown" if fault.kind in _DOUBTS else judged.severity,
        title,
        f"{message} {_BY}",
        Where(fault.side, None, fault.thread),
        evidence,
    )
