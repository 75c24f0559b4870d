"""How the end of a copy is known: at once, on an mbarrier that counts bytes, or as a bulk group."""

from __future__ import annotations

from layoutcheck.analysis.comparison.observables import arriving_bytes, asked_bytes
from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.copies.cluster import Cluster
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import Execution, Intent
from layoutcheck.gpu.predicate import Predicate

STALLED = "the barrier never completes"  # the one fault that leaves the device usable
# More bytes than expected: the count passes zero only if single instructions happen to add up to it.
UNSETTLED = "the barrier completes early or never"


def completion(copy: Copy) -> str:
    """How the end of the copy is waited for: "", "barrier" or "group"."""
    return copy.atom.completion if copy.atom is not None and not copy.needs_map else ""


def expected_bytes(copy: Copy, done: Execution, asked: Intent, given: Predicate) -> int | None:
    """What the copy's barrier is told of: as stated, else what the layouts ask for; None: no barrier."""
    if completion(copy) != "barrier":
        return None
    if copy.issue is not None and copy.issue.expect_bytes is not None:
        return copy.issue.expect_bytes
    return asked_bytes(asked) if copy.pred is None else arriving(done, given)


def arriving(done: Execution, given: Predicate) -> int:
    """Bytes that the instructions report which the predicate lets run."""
    return arriving_bytes(done, given.lets(done.pred, done.dst, done.never))


def fields(copy: Copy) -> list[tuple[str, int]]:
    """What bulk copies, multicasts and st.async take besides operands, as (what, value), in the PTX's order.

    The barrier, at the beginning of shared memory; a mask of blocks (this one alone where no cluster is
    known), or of all bytes; a rank.
    """
    cluster = copy.cluster or Cluster(1, 1, 0)
    found = [("barrier", 0)] if completion(copy) == "barrier" else []
    if copy.atom is not None and copy.atom.multicast:
        found.append(("number", cluster.mcast_mask or 0))
    elif isinstance(copy.atom, BulkCopy):
        if copy.atom.byte_mask:
            found.append(("number", 0xFFFF))
        if copy.atom.to_rank:
            found.append(("number", cluster.cta_rank or 0))
    return found


def mapped(copy: Copy) -> dict[int, int]:
    """Which parameters are shared addresses of other blocks, and of which: what `mapa` makes of them.

    A destination in distributed shared memory, and the barrier beside it. A bulk copy maps its destination
    itself; its barrier is given as the issuing block's, unless it is known whose is waited on.
    """
    cluster = copy.cluster
    if cluster is None or cluster.mcast_mask is not None:
        return {}
    barrier = 3 if copy.pred is not None else 2
    if copy.dst.space == "dsmem":
        return {1: cluster.named[0], barrier: cluster.told[0]}
    return {} if cluster.waits_rank is None else {barrier: cluster.waits_rank}
