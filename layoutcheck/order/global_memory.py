"""Global memory within one block: whether what the block itself stored there can be seen.

Followed are ranges that a bulk copy without a tensor map reads or writes, and what several warps access
(`crowded`), unless the kernel has what may order threads beside barriers: that is not modelled.
PTX ISA, "Async proxy": between ordinary accesses and cp.async.bulk of one place stands a proxy fence.
PTX ISA, cp.async.bulk.wait_group: with `.read` it does not say that the destination is written.

`ordering`: what may order accesses beside barriers (PTX ISA, Memory Consistency Model).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.evaluate import KERNELS
from layoutcheck.order.clashes import report
from layoutcheck.order.clocks import GLOBAL
from layoutcheck.order.crowded import TITLE, cells_of, crowded, plain
from layoutcheck.order.problems import lanes_in
from layoutcheck.order.replay import Warp, World
from layoutcheck.order.shadow import Access, Cells, Shadow
from layoutcheck.sources.mlir import Operation

CELL = 16  # bulk copies move multiples of 16 bytes
MOST_CELLS = 1 << 20


class GlobalMemory:
    """One shadow for each range of global memory that is read or written in bulk."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ranges: list[tuple[int, int, Shadow]] = []
        found: list[tuple[int, int]] = []
        for event in world.events:
            bulk = event.bulk if event.meaning.kind in ("bulk_load", "bulk_store") else None
            if bulk is not None and not event.doubt:
                size, address = bulk
                found.append((int(np.min(address)), int(np.max(address)) + int(np.max(size))))
        for low, high in _joined(found):
            if (high - low) // CELL <= MOST_CELLS:
                self.ranges.append((low, high, Shadow((high - low) // CELL + 1, GLOBAL, None)))
        self._crowd()

    def _crowd(self) -> None:
        """What several warps of a block access, in one shadow."""
        found = [crowded(block) for block in self.world.blocks]
        for crowd in found:
            if crowd.unsure:
                self.world.skip(crowd.unsure)
        some = [crowd for crowd in found if crowd.cells.size]
        ops = (event.meaning.op for event in self.world.events if plain(event))
        how = ordering(op, block=True) if some and (op := next(ops)) is not None else ""
        if how:
            self.world.skip(f"{TITLE}: {how} may order them")
        self.size = 0 if how else min((crowd.size for crowd in some), default=0)
        parts = [crowd.in_cells(self.size) for crowd in some if self.size]
        self.cells = np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)
        self.shadow = Shadow(self.cells.size, GLOBAL, None)

    def _plain(self, warp: Warp, index: int, lanes: int) -> None:
        """An ordinary access of what other warps access, too."""
        event = self.world.events[index]
        if not self.size or not plain(event):
            return
        threads = warp.first + np.array(lanes_in(lanes), np.int64)
        cells = cells_of(event, threads, self.size, self.world.threads)
        at = np.searchsorted(self.cells, cells.ravel()).clip(max=self.cells.size - 1)
        inside = self.cells[at] == cells.ravel()
        if not inside.any():
            return
        records = (threads | index << 10).repeat(cells.shape[1])
        clocks = self.world.clocks
        access = Access(Cells(at[inside]), records[inside], warp.number, clocks.now(warp.number), False)
        check = self.shadow.write if event.meaning.kind == "write" else self.shadow.read
        report(self.world, check(access, clocks.known[warp.number]), memory="global")

    def store(self, warp: Warp, index: int, lanes: int) -> None:
        """An ordinary store to global memory."""
        self._plain(warp, index, lanes)
        clocks = self.world.clocks
        for shadow, cells, records in self._ordinary(warp, index, lanes):
            access = Access(Cells(cells), records, warp.number, clocks.now(warp.number), False)
            for _ in shadow.write(access, clocks.known[warp.number]):
                pass  # stores among themselves are not looked at

    def read(self, warp: Warp, index: int, lanes: int) -> None:
        """An ordinary load of global memory; of bulk copies only stores before it are looked at."""
        self._plain(warp, index, lanes)
        clocks = self.world.clocks
        for shadow, cells, records in self._ordinary(warp, index, lanes):
            stored = shadow.by_proxy[cells]
            own = Cells(cells[stored])
            access = Access(own, records[stored], warp.number, clocks.now(warp.number), False)
            seen = shadow.read(access, clocks.known[warp.number])
            report(self.world, seen, memory="global", kind="not-complete")

    def store_in_bulk(self, warp: Warp, index: int, thread: int, step: int) -> None:
        """A bulk store: written by the asynchronous proxy, complete after the wait for its group."""
        clocks = self.world.clocks
        for shadow, cells in self._in_bulk(index, thread):
            access = Access(cells, index << 10 | thread, clocks.bulk_writes(warp.number), step, True)
            for _ in shadow.write(access, clocks.known[warp.number]):
                pass

    def _ordinary(self, warp: Warp, index: int, lanes: int) -> Iterator[tuple[Shadow, Any, Any]]:
        """The shadows that the lanes of a warp surely reach, with (cells, records)."""
        event = self.world.events[index]
        if not self.ranges or event.doubt or event.guarded:
            return
        threads = warp.first + np.array(lanes_in(lanes), np.int64)
        addresses = event.numbers(0, self.world.threads)[threads]
        for low, high, shadow in self.ranges:
            inside = (addresses >= low) & (addresses < high)
            if inside.any():
                yield shadow, (addresses[inside] - low) // CELL, threads[inside] | index << 10

    def load(self, warp: Warp, index: int, thread: int) -> None:
        """A bulk copy that reads global memory."""
        clocks = self.world.clocks
        for shadow, cells in self._in_bulk(index, thread):
            access = Access(cells, index << 10 | thread, clocks.bulk_reads(warp.number), 0, True)
            report(self.world, shadow.read(access, clocks.known[warp.number]), memory="global")

    def _in_bulk(self, index: int, thread: int) -> Iterator[tuple[Shadow, Cells]]:
        """The shadows that a bulk copy reaches in global memory, with its cells."""
        event = self.world.events[index]
        if event.bulk is None or event.doubt:
            return
        size, address = (part if isinstance(part, int) else int(part[thread]) for part in event.bulk)
        for low, high, shadow in self.ranges:
            if low <= address < high:
                yield shadow, Cells(range((address - low) // CELL, (address + size - low) // CELL))


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping ranges put together."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1]:
            out[-1] = (out[-1][0], max(high, out[-1][1]))
        else:
            out.append((low, high))
    return out


_FENCE = re.compile(r"(?:nvvm|llvm)\.(?:membar|fence|memory\.barrier)")
_NO_FENCE = re.compile(r"proxy|mbarrier")
_NARROW = re.compile(r"proxy|mbarrier|cta|block|cluster")  # fences of less than the GPU
_WORDS = re.compile(r"acquire|release|acq_rel|seq_cst|\bsc\b")
_NUMBER = re.compile(r"^([0-9]+)\b")
_INLINE = re.compile(r"\b(?:acquire|release|acq_rel|membar|fence\.(?:sc|acq)|volatile|mmio)\b")
FENCES, PAIRS = "a fence", "release and acquire"
_ORDERING = 4  # LLVM's atomic orderings from here on: acquire, release, acq_rel, seq_cst


def ordering(within: Operation, block: bool = False) -> str:
    """What may order threads beside barriers, in the kernel of an operation; "" for nothing.

    Release and acquire, or a fence: of the GPU, or any for threads of one `block`.
    """
    left_out = _NO_FENCE if block else _NARROW
    words = set[str]()
    for op in within.outer(*KERNELS).walk():
        if not op.name.startswith(("nvvm.", "llvm.")):
            continue
        if _INLINE.search(op.attributes.get("asm_string", "") or op.attributes.get("ptxCode", "")):
            return "inline PTX"
        if op.name == "llvm.load" and "volatile_" in op.attributes:
            return "a volatile load"
        given = " ".join(value for key, value in op.attributes.items() if "order" in key.lower())
        if _FENCE.match(op.name) and not left_out.search(" ".join((op.name, *op.attributes.values()))):
            return FENCES
        words.update(_WORDS.findall(given))
        words.update("both" for number in _NUMBER.findall(given) if int(number) >= _ORDERING)
    if words & {"acq_rel", "sc", "seq_cst", "both"} or {"acquire", "release"} <= words:
        return PAIRS
    return ""
