"""Partial results that nothing reads.

    never_read(kernel, blocks) -> problems

Threads store partial results to shared memory by one statement: one lane of each warp, or several lanes what
they have summed. Every warp that reads these numbers reads the same ones, but not all of them: a sum over the
warps leaves one out. Or nothing reads any of them. Nothing is told where warps read different numbers, or
choose among them (an exclusive scan over the warps), where those left out read the others and use their own
from registers, and where something reads shared memory at places that are not known here, or in a branch that
this run does not take.
"""

from __future__ import annotations

import re

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.types import SHARED, parse_type
from layoutcheck.order.contents import stored
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.never_written import reached, unseen
from layoutcheck.order.own_values import behind
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.unused import uses_beside
from layoutcheck.order.watched import Event, Watched, lanes_of
from layoutcheck.sources.mlir import Operation

KIND = "never-read"
# What reads shared memory, or writes it from where it is told by other means.
_OTHERS = ("matrix_read", "atomic", "bulk_store", "bulk_peer", "st_async", "wgmma", "tc_mma", "tc_copy")
_SUMS = re.compile(r"arith\.(?:add|max|min)\w+|nvvm\.(?:fmax|fmin|add\.packed\.f32x2)|math\.fma")
_SEVERAL = 4
_WARP = 32
_SPAN = 1 << 18  # bytes of shared memory


def never_read(kernel: WatchedKernel, blocks: list[Watched]) -> list[Problem]:
    """One problem for each statement whose numbers are read but for some, or not at all."""
    block = blocks[0]
    kinds = {one.kind for m in kernel.meanings.values() for one in m.all if one.space != "gmem"}
    known = len(blocks) == 1 and block.complete and not block.guessed
    stores: dict[Operation, list[Event]] = {}
    for event in block.events if known else ():
        if event.meaning.op is not None and _partial(event, block.launch.threads):
            stores.setdefault(event.meaning.op, []).append(event)
    if not stores or not kinds.isdisjoint(_OTHERS) or unseen(kernel):
        return []
    loads = {
        op for op, m in kernel.meanings.items() if any(x.kind == "read" and x.space != "gmem" for x in m.all)
    }
    near = [
        one for one in block.events if one.meaning.kind in ("read", "write") and one.meaning.space != "gmem"
    ]
    reads = [one for one in near if one.meaning.kind == "read"]
    if any(one.doubt or one.guarded for one in reads) or not loads <= {one.meaning.op for one in reads}:
        return []
    together = _together(block)
    found = []
    for each in stores.values():
        told = [_left_out(one, near, block.launch.threads, together) for one in (each[0], each[-1])]
        last = told[-1]
        if last is not None and (last.second is not None or told[0] is not None) and not _meant(last):
            found.append(last)
    return found


def _together(block: Watched) -> bool:
    """Whether all threads meet at every barrier: what comes later in the program comes later in time."""
    meets = [event for event in block.events if event.meaning.kind.startswith(("barrier", "mbar"))]
    whole = (bool(lanes_of(event, block.launch.threads).all()) for event in meets)
    return all(event.meaning.kind == "barrier" for event in meets) and all(whole)


def _meant(problem: Problem) -> bool:
    """Whether readers choose what they take, or those left out read too and use their own from registers."""
    too = problem.facts.pop("read by those")
    if problem.first is None or problem.second is None:
        return False
    store, load = problem.first.event.meaning.op, problem.second.event.meaning.op
    if store is None or load is None or store.name != "llvm.store":
        return False
    users, queue = uses_beside(load), list(load.results)
    for value in queue:
        for op, _ in users[value]:
            if op.name.endswith(".select"):
                return True
            queue += op.results if op.name.startswith("vector.") else []
    own = [op for op, _ in users[store.operands[0]] if op is not store]
    return bool(own and too)


def _partial(event: Event, threads: int) -> bool:
    """Whether threads store partial results, each to a place of its own in shared memory."""
    meaning = event.meaning
    if meaning.kind != "write" or meaning.space != "smem" or event.doubt or event.guarded:
        return False
    lanes = np.flatnonzero(lanes_of(event, threads))
    at = event.numbers(0, threads)[lanes]
    if len(lanes) < 2 or len(np.unique(at)) < len(lanes):
        return False
    by_warps = len(np.unique(lanes // _WARP)) == len(lanes)
    return meaning.op is not None and _summed(meaning.op, event, by_warps)


def _summed(op: Operation, event: Event, by_warps: bool) -> bool:
    """Whether what is stored is a sum, or a maximum, of registers, or of what loops or lanes give.

    What one lane of each warp stores is taken for one, unless it is a constant.
    """
    ops, carrying = behind(stored(op, event.meaning))
    if by_warps:
        return bool(carrying) or any(one.operands for one in ops)
    steps = sum(bool(_SUMS.fullmatch(one.name)) for one in ops)
    near = any(one.name == "llvm.load" and parse_type(one.operands[0].type).space == SHARED for one in ops)
    given = bool(carrying) or near or any(one.name == "nvvm.shfl.sync" for one in ops)
    return steps >= _SEVERAL or (steps > 0 and given)


def _left_out(event: Event, near: list[Event], threads: int, together: bool) -> Problem | None:
    """What of the numbers is not read; None if all are, or if warps read different ones.

    `near` are loads and stores of shared memory. With `together` those count that come later.
    """
    lanes = np.flatnonzero(lanes_of(event, threads))
    at = event.numbers(0, threads)[lanes] & (spaces.SHARED_BYTES - 1)
    number = np.full(_SPAN, -1, np.int64)  # which of them a byte is of
    for k in range(max(1, event.meaning.size)):
        number[np.minimum(at + k, _SPAN - 1)] = np.arange(len(lanes))
    met = np.zeros((-(-threads // _WARP), len(lanes)), bool)  # which warp reads which number
    readers: dict[int, Event] = {}
    for read in near:
        if read.number <= event.number and together:
            continue
        bytes_, _ = reached(read, threads)
        if bytes_ is None or not bytes_.size:
            continue  # of global memory
        if read.meaning.kind == "write":
            if together and not (read.doubt or read.guarded):
                number[bytes_] = -1
            continue
        who = np.flatnonzero(lanes_of(read, threads))
        own = number[bytes_]
        rows = np.broadcast_to(who[:, None], own.shape)[own >= 0]
        met[rows // _WARP, own[own >= 0]] = True
        if rows.size:
            readers.setdefault(int(rows[0]), read)
    reading = np.any(met, 1)
    some = met[reading]
    if some.size and ((some != some[0]).any() or some[0].all()):
        return None
    taken = some[0] if some.size else np.zeros(len(lanes), bool)
    left = int(lanes[~taken][0])
    party = Party(event, 0, left, int(at[~taken][0]), event.meaning.size)
    problem = Problem(KIND, party, None)
    if readers:
        thread, read = next(iter(readers.items()))
        problem.second = Party(read, 0, thread, -1, read.meaning.size)
    by_warps = len(np.unique(lanes // _WARP)) == len(lanes)
    problem.facts |= {"read": int(taken.sum()), "of": len(lanes), "warp": left // _WARP if by_warps else -1}
    problem.facts["read by those"] = int(np.all(reading[lanes[~taken] // _WARP]))
    return problem
