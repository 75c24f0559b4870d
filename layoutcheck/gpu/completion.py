"""How the end of a copy is known: at once, on an mbarrier that counts bytes, or as a bulk group."""

from __future__ import annotations

from layoutcheck.copies.copy import Copy
from layoutcheck.copies.execution import Execution
from layoutcheck.copies.moves import Intent
from layoutcheck.gpu.predicate import Predicate
from layoutcheck.machine.atoms import BulkCopy, DsmemStore

STALLED = "the barrier never completes"  # the one fault that leaves the device usable
# More bytes than expected: the count passes zero only if single instructions happen to add up to it.
UNSETTLED = "the barrier completes early or never"


def completion(copy: Copy) -> str:
    """How the end of the copy is waited for: one of `wrapper.COMPLETIONS`."""
    if isinstance(copy.atom, BulkCopy):
        return "barrier" if copy.atom.counts_bytes else "group"
    return "barrier" if isinstance(copy.atom, DsmemStore) else ""


def expected_bytes(copy: Copy, done: Execution, asked: Intent, given: Predicate) -> int | None:
    """What the copy's barrier is told of: as stated, else what the layouts ask for; None: no barrier."""
    if completion(copy) != "barrier":
        return None
    if copy.issue is not None and copy.issue.expect_bytes is not None:
        return copy.issue.expect_bytes
    return int(asked.dst.size * asked.unit_bits // 8) if copy.pred is None else arriving_bytes(done, given)


def arriving_bytes(done: Execution, given: Predicate) -> int:
    """Bytes that the instructions report."""
    live = given.lets(done.pred, done.dst, done.never)
    return int(done.dst[live].size * done.unit_bits // 8)


def fields(copy: Copy) -> list[tuple[str, int]]:
    """What bulk copies and st.async take besides their operands, as (what, value), in the PTX's order.

    The barrier, at the beginning of shared memory; a mask of this block alone, or of all bytes; rank 0.
    """
    found = [("barrier", 0)] if completion(copy) == "barrier" else []
    if isinstance(copy.atom, BulkCopy):
        if copy.atom.multicast or copy.atom.byte_mask:
            found.append(("number", 1 if copy.atom.multicast else 0xFFFF))
        if copy.atom.kind == "s2s":
            found.append(("number", 0))
    return found
