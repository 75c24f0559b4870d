"""Global memory that bulk copies read: whether what the block itself stored there can be seen by them.

Only ranges that a bulk copy without a tensor map reads are followed, with the stores of the same block.
PTX ISA, "Async proxy": between ordinary accesses and cp.async.bulk of one place stands a proxy fence.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from layoutcheck.order.clashes import report
from layoutcheck.order.clocks import GLOBAL
from layoutcheck.order.replay import Warp, World
from layoutcheck.order.shadow import Access, Shadow
from layoutcheck.order.watched import Event

CELL = 16  # bulk copies move multiples of 16 bytes
MOST_CELLS = 1 << 20


class GlobalMemory:
    """One shadow for each range of global memory that is read in bulk."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ranges: list[tuple[int, int, Shadow]] = []
        found: list[tuple[int, int]] = []
        for event in world.events:
            source = source_of(event)
            if source is not None and not event.doubt:
                address, size = source
                found.append((int(np.min(address)), int(np.max(address)) + int(np.max(size))))
        for low, high in _joined(found):
            if (high - low) // CELL <= MOST_CELLS:
                self.ranges.append((low, high, Shadow((high - low) // CELL + 1, GLOBAL, None)))

    def store(self, warp: Warp, index: int, lanes: int) -> None:
        """An ordinary store to global memory."""
        event = self.world.events[index]
        if not self.ranges or event.doubt or event.guarded:
            return
        threads = [warp.first + lane for lane in range(32) if lanes >> lane & 1]
        value = event.values[0]
        addresses = np.array([value if isinstance(value, int) else int(value[t]) for t in threads], np.int64)
        for low, high, shadow in self.ranges:
            inside = (addresses >= low) & (addresses < high)
            if inside.any():
                cells = (addresses[inside] - low) // CELL
                records = np.array(threads, np.int64)[inside] | index << 10
                clocks = self.world.clocks
                access = Access(cells, records, warp.number, clocks.now(warp.number), False)
                for _ in shadow.write(access, clocks.known[warp.number]):
                    pass  # stores among themselves are not looked at

    def load(self, warp: Warp, index: int, thread: int) -> None:
        """A bulk copy that reads global memory."""
        source = source_of(self.world.events[index])
        if source is None:
            return
        address, size = (part if isinstance(part, int) else int(part[thread]) for part in source)
        for low, high, shadow in self.ranges:
            if low <= address < high:
                cells = np.arange((address - low) // CELL, (address + size - low) // CELL, dtype=np.int64)
                clocks = self.world.clocks
                access = Access(cells, index << 10 | thread, clocks.bulk_reads(warp.number), 0, True)
                report(self.world, shadow.read(access, clocks.known[warp.number]), memory="global")


def source_of(event: Event) -> tuple[Any, Any] | None:
    """(address, bytes) that a bulk copy without a tensor map reads of global memory."""
    if event.meaning.kind != "bulk_load" or event.bulk is None:
        return None
    return event.bulk[1], event.bulk[0]


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping ranges put together."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1]:
            out[-1] = (out[-1][0], max(high, out[-1][1]))
        else:
            out.append((low, high))
    return out
