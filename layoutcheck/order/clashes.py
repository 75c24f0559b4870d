"""`report(world, clashes)`: what a shadow memory finds, as problems of a kind."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutcheck.order.diagnose import of_warp
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.never_written import allocation_of
from layoutcheck.order.own_values import differ
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.replay import World
from layoutcheck.order.shadow import Clash
from layoutcheck.order.unused import unused
from layoutcheck.order.watched import Event
from layoutcheck.sources.mlir import Operation, Region


def report(world: World, clashes: Iterator[Clash], *, memory: str = "", kind: str = "") -> None:
    """What the shadow finds, as problems; `memory` is "global" or "tensor" where it is not shared memory.

    `kind` is that of all problems, told in the order of the replay; "" where each is to be judged.
    """
    for clash in clashes:
        parties = []
        for record in (clash.earlier, clash.later):
            index, thread = record >> 10, record & 1023
            address = -1 if memory else world.address_of(clash.cell)
            parties.append(Party(world.events[index], world.block_of[index], thread, address, world.cell))
        first, second = parties
        later = first.block == second.block and first.event.number > second.event.number
        if later and not kind and clash.kind != "lane" and _as_written(world, first.event, second.event):
            first, second = second, first  # as the program has it, whoever came first in this run
        facts: dict[str, int | str] = {"memory": memory} if memory else {}
        told = kind or _kind(clash, first, second)
        if not kind and clash.kind == "race" and memory == "global":
            told = "not-complete" if first.event.meaning.kind == "bulk_store" else "race"
        if not kind and clash.kind not in ("lane", "lanes") and _not_stored(world, first):
            told, facts["cause"] = "not-complete", "no-tensor-wait"
        problem = Problem(told, first, second, [], facts)
        left = not world.is_new(problem) or any(unused(world, one) for one in parties)
        if not left and not _harmless(world, clash, first, second):
            world.tell(problem)


def _as_written(world: World, first: Event, second: Event) -> bool:
    """Whether the program has them in one sequence, so that its order counts."""
    roles = first.turns < second.turns and not _by_one_warp(world, first, second)
    return not roles and _in_sequence(first.meaning.op, second.meaning.op)


def _not_stored(world: World, party: Party) -> bool:
    """Whether it is a tcgen05.st that its warp does not wait for before it gives anything."""
    event = party.event
    if event.meaning.kind != "tmem_write":
        return False
    for later in of_warp(world, party):
        if later.number <= event.number:
            continue
        if later.meaning.kind == "tmem_wait" and not later.meaning.count:
            return False
        if later.meaning.kind in _GIVING:
            return True
    return True


def _by_one_warp(world: World, a: Event, b: Event) -> bool:
    """Whether some warp executes both: else they are parts of two roles, whichever the program has first."""
    if a.mask is None or b.mask is None:
        return True
    key = id(a.mask), id(b.mask)  # the events of a block share their masks
    if key not in world.together:
        ours, theirs = (np.flatnonzero(mask) >> 5 for mask in (a.mask, b.mask))
        world.together[key] = bool(np.isin(ours, theirs).any())
    return world.together[key]


def _in_sequence(a: Operation | None, b: Operation | None) -> bool:
    """Whether one comes after the other in the program: not in two branches of one test."""
    if a is None or b is None:
        return True
    around: dict[Operation, Region | None] = {}
    at: Operation | None = a
    while at is not None and at.parent is not None:
        region = at.parent.parent
        around[region.parent] = region
        at = region.parent
    at = b
    while at is not None and at.parent is not None:
        region = at.parent.parent
        if region.parent in around:
            same = around[region.parent] is region
            return same or region.parent.name not in ("scf.if", "scf.index_switch")
        at = region.parent
    return True


def _harmless(world: World, clash: Clash, first: Party, second: Party) -> bool:
    """The same value written twice is no race worth telling, and atomics are ordered among themselves.

    Nor is a race of two allocations: one of the accesses leaves its own, which the bounds of shared memory
    tell where it is sure. Made-up extents may make it leave.
    """
    a, b = first.event.meaning, second.event.meaning
    if _apart(a, b):
        return True
    if a.kind == b.kind and a.kind in ("atomic", "tmem_free"):
        return True
    if clash.kind == "race" and _same_copy(first, second):
        return True
    if clash.kind == "lane" and (first.block, first.warp) == (second.block, second.warp):
        return True
    if clash.kind != "race" or a.kind not in _WRITES or b.kind not in _WRITES:
        return False
    if a.op is b.op:  # one statement, by several threads: most often one value
        world.compared = True
        return not differ(first, second, *(world.blocks[one.block].events for one in (first, second)))
    return "constant" in a.facts and a.facts["constant"] == b.facts.get("constant")


def _same_copy(first: Party, second: Party) -> bool:
    """Whether several warps of a block start one copy: the same bytes, to one place, in one turn."""
    one, other = first.event, second.event
    if one.meaning.op is not other.meaning.op or one.meaning.kind != "bulk_peer" or one.turns != other.turns:
        return False
    if first.block != second.block or one.bulk is None or one.doubt or other.doubt:
        return False
    return _numbers(first) == _numbers(second)


def _numbers(party: Party) -> list[int]:
    return [party.event.number_of(i, party.thread) for i in range(len(party.event.values))]


def _apart(a: Meaning, b: Meaning) -> bool:
    """Whether a thread's own loads or stores are made for two allocations of shared memory."""
    if a.op is b.op or not {a.kind, b.kind} <= {"read", "write"}:
        return False
    of_a, of_b = allocation_of(a.operands[0]), allocation_of(b.operands[0])
    return of_a is not None and of_b is not None and of_a is not of_b


_WRITES = ("write", "matrix_write")
_GIVING = ("barrier", "barrier_arrive", "cluster_arrive", "mbar_arrive", "cp_arrive")
_ASYNC_READS = ("bulk_store", "wgmma", "tc_mma", "tc_copy", "bulk_peer")
_ASYNC_WRITES = ("bulk_load", "cp_async", "bulk_peer", "st_async")


def _kind(clash: Clash, first: Party, second: Party) -> str:
    """The kind of problem that two accesses make, in the order in which the program has them."""
    one, other = first.event.meaning.kind, second.event.meaning.kind
    if "tmem_free" in (one, other) and first.block != second.block:
        return "pair-freed"
    if clash.kind == "strict":
        return "fence-by-reader"
    if clash.kind == "lane":
        return "lane-arrives"
    if clash.kind == "lanes":
        return "lanes"
    if clash.kind == "proxy":
        write = clash.write_first and other in (*_ASYNC_READS, "bulk_load")
        return "no-proxy-fence" if write else "no-proxy-fence-before-overwrite"
    if one in _ASYNC_WRITES or (one == "tc_mma" and (clash.write_first or other == "tmem_read")):
        return "not-complete"
    if one in _ASYNC_READS:
        return "overwritten-while-copied"
    if other in (*_ASYNC_WRITES, "tc_mma"):
        return "overwritten-by-copy"
    return "race"
