"""Kernels that may begin before the kernel in front of them has ended: what they do before they wait for it.

A launch that allows programmatic stream serialization (`use_pdl=True`) lets a kernel begin early. What the
kernel in front of it writes is there behind griddepcontrol.wait only (PTX ISA, griddepcontrol; CUDA C++
Programming Guide, Programmatic Dependent Launch and Synchronization). A warp that does not wait itself may
rely on another one's wait behind anything that warps meet by. Kernels that one function of the host launches
are compared by the tensors that they are given; what other functions launch is not known.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.order.between import reaches_globally
from layoutcheck.order.budget import Budget
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.problems import Party, Problem, party_of
from layoutcheck.order.watched import Event, Watched, first_thread, lanes_of
from layoutcheck.sources.mlir import Operation

UNCHECKED = "whether what is accessed before griddepcontrol.wait is older than the kernel in front"
ELSEWHERE = "griddepcontrol.wait, which block 0 does not come to, and what is accessed without it"
_WAIT = "griddepcontrol"
# Behind these a warp may know of another one's wait.
_AT_MBARRIERS = ("mbar_wait", "mbar_token", "tc_mma")
_BARRIERS = ("barrier", "barrier_arrive")
_MEETINGS = (*_AT_MBARRIERS, *_BARRIERS, "cluster_wait", "fence", "unknown")
_STORES = ("write", "atomic", "bulk_store")


def begins_early(kernel: WatchedKernel, budget: Budget) -> tuple[list[Problem], set[str]]:
    """Accesses of global memory by such a kernel that come too early, and what is not known of others.

    The first read of one that never waits; before the wait, what a kernel in front writes, and stores to what
    it accesses. Raises OutOfTime.
    """
    if not kernel.launch.early:
        return [], set()
    waits = {op: Meaning("griddepcontrol", op=op) for op in kernel.operation.walk() if _waits(op)}
    meet = {op: m for op, m in kernel.meanings.items() if any(one.kind in _MEETINGS for one in m.all)}
    block = _globally(kernel, {**meet, **waits}, budget)
    if not waits:
        reads = (
            event for event in block.events
            if event.meaning.op not in meet and any(m.kind not in _STORES for m in event.meaning.all)
        )  # fmt: skip
        return [Problem("begins-early", party_of(event, block), None) for event in reads][:1], set()
    if all(event.meaning.op not in waits for event in block.events):
        return [], {ELSEWHERE}
    unsure = set[int]()
    parties = list(_before(block, waits, meet, unsure))
    found = list[Problem]()
    of_tensor = defaultdict[int, list[Party]](list)  # what comes before the wait, by the tensor's number
    for one in parties:
        of_tensor[_tensor(one.event, block)].append(one)
    of_tensor.pop(0, None)
    for other in kernel.front if of_tensor else ():
        theirs = _globally(other, {}, budget)
        for event in theirs.events:
            there = party_of(event, theirs)
            found += [
                Problem("reads-early", there, one)
                for one in of_tensor.get(_tensor(event, theirs), ())
                if event.meaning.kind in _STORES or one.event.meaning.kind in _STORES
            ]
    told = {one.second.event.meaning.op for one in found if one.second is not None}
    left = any(one.event.meaning.op not in told for one in parties)
    return found, {UNCHECKED} if left or unsure else set()


def _before(
    block: Watched, waits: dict[Operation, Meaning], meet: dict[Operation, Meaning], unsure: set[int]
) -> Iterator[Party]:
    """The accesses of warps that have not waited, nor met anything since another one has.

    At a barrier a warp meets those that come there in any turn, and then knows what one of them knows.
    `unsure` are accesses, by their numbers, behind a wait for an mbarrier, or a barrier with warps that wait
    further below: the program may have that role, and its wait, there.
    """
    threads = block.launch.threads
    at = {event.number: _at_barrier(event, threads) for event in block.events if _barrier(event)}
    come = defaultdict[int, set[int]](set)  # by the barrier's number: warps
    for warp, number in itertools.chain.from_iterable(at.values()):
        come[number].add(warp)
    apart = (event for event in block.events if event.meaning.op in {**waits, **meet} and not _barrier(event))
    in_the_end = set[int]().union(*(_warps(event, threads) for event in apart))
    while more := set[int]().union(*(w for w in come.values() if w & in_the_end)) - in_the_end:
        in_the_end |= more
    waited, perhaps = set[int](), set[int]()
    for event in block.events:
        warps, op = _warps(event, threads), event.meaning.op
        if op in waits:
            waited |= warps
        elif event.meaning.kind == "barrier":
            waited |= {warp for warp, number in at[event.number] if come[number] & waited}
            perhaps |= {warp for warp, number in at[event.number] if come[number] & in_the_end}
        elif op in meet:
            if waited:
                waited |= warps
            elif event.meaning.kind in _AT_MBARRIERS:
                perhaps |= warps
        elif left := warps - waited - perhaps:
            on = lanes_of(event, threads).nonzero()[0].tolist()
            yield Party(event, 0, next(thread for thread in on if thread // 32 in left))
        elif not warps <= waited:
            unsure.add(event.number)


def _barrier(event: Event) -> bool:
    return event.meaning.kind in _BARRIERS


def _warps(event: Event, threads: int) -> set[int]:
    """The warps that take part."""
    return set((lanes_of(event, threads).nonzero()[0] // 32).tolist())


def _at_barrier(event: Event, threads: int) -> list[tuple[int, int]]:
    """Each warp that comes to a barrier, with the barrier's number."""
    numbers = for_all(event.values[0] if event.meaning.facts.get("id") else 0, threads)
    lanes = lanes_of(event, threads).nonzero()[0]
    return [(warp, int(numbers[lanes[lanes // 32 == warp][0]])) for warp in _warps(event, threads)]


def _globally(kernel: WatchedKernel, more: dict[Operation, Meaning], budget: Budget) -> Watched:
    """What block 0 does to global memory, and `more`."""
    meanings = {op: m for op, m in kernel.meanings.items() if all(map(reaches_globally, m.all))}
    return replace(kernel, meanings={**meanings, **more}).watch(budget=budget)


def _tensor(event: Event, block: Watched) -> int:
    """The number of the tensor of the host that an event accesses; 0 where it is not known."""
    meaning, thread = event.meaning, first_thread(event, block)
    if meaning.kind in ("bulk_load", "bulk_store"):
        tensor_map = block.map_of(event, thread)
        address = -1 if event.bulk is None else event.bulk[1]
        if tensor_map is not None:
            address = tensor_map.base
    else:
        address = event.number_of(int(meaning.kind == "cp_async"), thread)
    return spaces.in_object("gmem", address)[0] if spaces.space_of(0, address) == "gmem" else 0


def _waits(op: Operation) -> bool:
    """Whether an operation waits, or may: a function that is called is not looked into."""
    if op.name == "nvvm.griddepcontrol":
        return "wait" in op.attributes.get("kind", "")
    if op.name == "nvvm.griddepcontrol.wait" or op.name == "llvm.call":
        return True
    text = op.attributes.get("asm_string", "") + op.attributes.get("ptxCode", "")
    return _WAIT in text and ".wait" in text
