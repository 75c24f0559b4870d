"""Partial results of warps that nothing reads.

    never_read(kernel, blocks) -> problems

One lane of each warp stores a number to shared memory by one statement, and every warp that reads these
numbers reads the same ones, but not all of them: a sum over the warps leaves one out. Nothing is told where
warps read different numbers, or choose among them (an exclusive scan over the warps), where those left out
read the others and use their own from registers, and where something reads shared memory at places that are
not known here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.never_written import reached, unseen
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.unused import uses_beside
from layoutcheck.order.watched import Event, Watched, lanes_of

KIND = "never-read"
# What reads shared memory, or writes it from where it is told by other means.
_OTHERS = ("matrix_read", "atomic", "bulk_store", "bulk_peer", "st_async", "wgmma", "tc_mma", "tc_copy")
_WARP = 32


def never_read(kernel: WatchedKernel, blocks: list[Watched]) -> list[Problem]:
    """One problem for each statement whose numbers are read but for those of some warps."""
    block = blocks[0]
    kinds = {one.kind for m in kernel.meanings.values() for one in m.all if one.space != "gmem"}
    known = len(blocks) == 1 and block.complete and not block.guessed
    stores = [event for event in block.events if _by_warps(event, block.launch.threads)] if known else []
    if not stores or not kinds.isdisjoint(_OTHERS) or unseen(kernel):
        return []
    reads = [
        event for event in block.events if event.meaning.kind == "read" and event.meaning.space != "gmem"
    ]
    if any(event.doubt or event.guarded for event in reads):
        return []
    found: dict[object, Problem] = {}
    for event in stores:
        for problem in _left_out(event, reads, block.launch.threads):
            found.setdefault(event.meaning.op, problem)
    return [one for one in found.values() if not _meant(one)]


def _meant(problem: Problem) -> bool:
    """Whether readers choose what they take, or those left out read too and use their own from registers."""
    assert problem.first is not None and problem.second is not None
    too = problem.facts.pop("read by those")
    store, load = problem.first.event.meaning.op, problem.second.event.meaning.op
    if store is None or load is None or store.name != "llvm.store":
        return False
    users, queue = uses_beside(load), list(load.results)
    for value in queue:
        for op in users[value]:
            if op.name.endswith(".select"):
                return True
            queue += op.results if op.name.startswith("vector.") else []
    own = [op for op in users[store.operands[0]] if op is not store]
    return bool(own and too)


def _by_warps(event: Event, threads: int) -> bool:
    """Whether one lane in each of several warps stores to a place of its own in shared memory."""
    if event.meaning.kind != "write" or event.meaning.space != "smem" or event.mask is None:
        return False
    lanes = np.flatnonzero(event.mask)
    at = event.numbers(0, threads)[lanes]
    several = len(lanes) > 1 and len(np.unique(lanes // _WARP)) == len(lanes) == len(np.unique(at))
    return several and not (event.doubt or event.guarded)


def _left_out(event: Event, reads: list[Event], threads: int) -> Iterator[Problem]:
    lanes = np.flatnonzero(lanes_of(event, threads))
    at = event.numbers(0, threads)[lanes] & (spaces.SHARED_BYTES - 1)
    met = np.zeros((-(-threads // _WARP), len(lanes)), bool)  # which warp reads which number
    readers: dict[int, Event] = {}
    for read in reads:
        bytes_, _ = reached(read, threads)
        if bytes_ is None:
            continue  # of global memory
        who = np.flatnonzero(lanes_of(read, threads))
        for number, place in enumerate(at):
            first, size = int(place), max(1, event.meaning.size)
            own = ((bytes_ >= first) & (bytes_ < first + size)).any(1) if bytes_.size else np.zeros(0, bool)
            met[who[own] // _WARP, number] = True
            if own.any():
                readers.setdefault(int(who[own][0]), read)
    some = met[met.any(1)]
    if not some.size or (some != some[0]).any() or some[0].all():
        return
    left = int(lanes[~some[0]][0])
    address = int(at[~some[0]][0])
    thread, read = next(iter(readers.items()))
    party = Party(event, 0, left, address, event.meaning.size)
    problem = Problem(KIND, party, Party(read, 0, thread, -1, read.meaning.size))
    problem.facts |= {"read": int(some[0].sum()), "of": len(lanes), "warp": left // _WARP}
    readers_too = np.any(met, 1)[lanes[~some[0]] // _WARP]
    problem.facts["read by those"] = int(readers_too.all())
    yield problem
