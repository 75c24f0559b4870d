"""Tensor memory that a kernel allocates: how many columns, whether it frees them, and what lies beyond.

    tensor_memory(kernel, watched) -> problems

A block's columns are those of its `tcgen05.alloc`. PTX ISA, "Tensor Memory Allocation and Management": the
number is a power of 2 from 32 to 512, the instruction waits where so many are not free, and all have to be
deallocated before the kernel ends. Accesses are looked at where one allocation, of a constant number of
columns, is all that the kernel has: its address is then their base. Of an MMA D counts, and A in tensor
memory; where its rectangle is not certain, the smaller one is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.problems import Party, Problem, party_of
from layoutcheck.order.tensor_cores import COLUMNS, reached_by
from layoutcheck.order.watched import Event, Watched, lanes_of
from layoutcheck.sources.mlir import Operation, integer

BEYOND, KEPT, FULL = "tmem-beyond", "tmem-kept", "tmem-full"
_DEALLOC = "tcgen05.dealloc"


def tensor_memory(kernel: WatchedKernel, watched: Watched) -> list[Problem]:
    """What is wrong with the columns of a block: one problem of each kind, and of each access beyond."""
    allocations = [event for event in watched.events if event.meaning.facts.get("constant") == "tmem"]
    if not allocations:
        return []
    found = list(_full(watched))
    if not _freed(kernel.operation):
        found.append(Problem(KEPT, None, party_of(allocations[0], watched)))
    columns = columns_of(allocations[0])
    if len({event.meaning.op for event in allocations}) == 1 and columns is not None:
        found += _beyond(watched, allocations[0], columns)
    return found


def columns_of(event: Event) -> int | None:
    """The columns that an allocation, or a deallocation, names; None where they are no constant."""
    op = event.meaning.op
    made = op.operands[-1].definition if op is not None and op.operands else None
    return None if made is None else integer(made.attributes.get("value", "").partition(" : ")[0])


def _beyond(watched: Watched, allocation: Event, columns: int) -> Iterator[Problem]:
    """The first access of each operation that ends behind the columns of the only allocation."""
    seen = set()
    for event in watched.events:
        kind, site = event.meaning.kind, event.meaning.site
        if kind not in ("tmem_read", "tmem_write", "tc_mma") or event.doubt or site in seen:
            continue
        active = np.flatnonzero(lanes_of(event, watched.launch.threads))
        for thread in active[::32] if kind != "tc_mma" else active[:1]:
            end = reached_by(event, int(thread))
            if end > columns:
                seen.add(site)
                facts: dict[str, int | str] = {"columns": columns, "end": end}
                first = party_of(allocation, watched)
                yield Problem(BEYOND, first, Party(event, 0, int(thread)), facts=facts)
                break


def _full(watched: Watched) -> Iterator[Problem]:
    """An allocation for which a block's columns cannot be enough, with what it has by then."""
    held, last = 0, None
    for event in watched.events:
        allocates = event.meaning.facts.get("constant") == "tmem"
        if event.guarded or not (allocates or event.meaning.kind == "tmem_free"):
            continue
        columns = columns_of(event)
        if columns is None:
            return
        if allocates and last is not None and held + columns > COLUMNS:
            facts: dict[str, int | str] = {"columns": columns, "held": held}
            yield Problem(FULL, party_of(last, watched), party_of(event, watched), facts=facts)
            return
        held, last = (held + columns, event) if allocates else (max(0, held - columns), last)


def _freed(operation: Operation) -> bool:
    """Whether a kernel has something that gives tensor memory back, as an operation or in inline PTX."""
    return any(
        op.name.startswith(f"nvvm.{_DEALLOC}") or any(_DEALLOC in text for text in op.attributes.values())
        for op in operation.walk()
    )
