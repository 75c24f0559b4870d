"""The map of a kernel's shared and tensor memory: allocations, and which line touches which bytes when.

    for one in memory_maps(module, lowered):
        one.regions, one.uses

The events of block 0 (`events`) are put together by line and allocation. Time is the number of the event in
program order. Bytes that tensor cores read by descriptors are those of `footprint`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered import argument_types, spaces
from layoutcheck.dsl.lowered.allocations import PERIOD, allocations, end_of, symbols
from layoutcheck.dsl.lowered.evaluate import tag
from layoutcheck.dsl.lowered.instructions import transfers
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch
from layoutcheck.machine.canonical.footprint import UNIT, operand
from layoutcheck.order.events import WatchedKernel, kernels
from layoutcheck.order.meaning import IN_SHARED
from layoutcheck.order.overlap import in_part
from layoutcheck.order.watched import Event, Watched, lanes_of
from layoutcheck.sources.mlir import integer
from layoutcheck.sources.traced import Frame
from layoutcheck.sources.traced_module import TracedModule

DYNAMIC = "dynamic"
_WRITES = ("write", "matrix_write", "cp_async", "bulk_load", "atomic")
_READS = ("read", "matrix_read", "bulk_store", "bulk_peer", "wgmma", "atomic")


@dataclass(frozen=True, slots=True)
class Region:
    """An allocation of `size` bytes at `start`, aligned to `align`; the dynamic one is as the launch asks."""

    name: str
    start: int
    size: int
    align: int


@dataclass(slots=True)
class Use:
    """What one line does in one region: bytes `low` to `high`, from event `first` to event `last`."""

    where: Frame
    region: str
    low: int
    high: int
    first: int
    last: int
    reads: int = 0
    writes: int = 0
    barrier: bool = False


@dataclass(frozen=True, slots=True)
class TensorMemory:
    """Calls that allocate (columns, None if they are not a constant), free and relinquish tensor memory."""

    allocated: tuple[tuple[Frame, int | None], ...] = ()
    freed: tuple[Frame, ...] = ()
    relinquished: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """The memory of one kernel. `most` is what a block of the architecture can have.

    `asked` are the dynamic bytes of the launch, None where the host's code does not say; `complete` says
    whether all of the kernel's loops were followed to their ends. `problem` says why there is no map.
    """

    kernel: str
    arch: str
    regions: tuple[Region, ...] = ()
    uses: tuple[Use, ...] = ()
    tensor: TensorMemory = field(default_factory=TensorMemory)
    asked: int | None = None
    most: int = 0
    events: int = 0
    complete: bool = True
    problem: str = ""

    @property
    def aliases(self) -> list[tuple[Use, Use]]:
        """Lines that write ranges which overlap in part: neither holds the other."""
        data = [use for use in self.uses if not use.barrier]
        return [
            (a, b)
            for i, a in enumerate(data)
            for b in data[i + 1 :]
            if a.region == b.region and a.writes and b.writes
            and in_part((a.low, a.high), (b.low, b.high))
        ]  # fmt: skip

    def used(self, region: str) -> int:
        """The end of the last byte of a region that is touched, from its start."""
        start = next(one.start for one in self.regions if one.name == region)
        return max((use.high - start for use in self.uses if use.region == region), default=0)


def memory_maps(module: TracedModule, lowered: str, problem: str) -> list[MemoryMap]:
    """The map of every kernel of a lowered module. Raises nothing: what has no map says why."""
    if problem:
        return [MemoryMap(module.kernel, module.arch, problem=problem)]
    try:
        found = kernels(lowered, argument_types(module.text))
        return [_mapped(kernel, module) for kernel in found]
    except InputError as error:
        return [MemoryMap(module.kernel, module.arch, problem=error.message)]


def _mapped(kernel: WatchedKernel, module: TracedModule) -> MemoryMap:
    watched = kernel.watch()
    regions: list[Region] = []
    allocated = sorted(allocations(kernel.operation).values(), key=lambda one: one.start)
    for number, one in enumerate(allocated):
        regions.append(Region(str(number), one.start, one.size, one.align))
    end = end_of(allocated)
    for name, one in symbols(kernel.operation).items():
        regions.append(Region(name, one.start, one.size, one.align))
        end = one.start + one.size
    moved, asked = transfers(module.text), kernel.launch.dynamic_bytes
    uses: dict[tuple[Frame, str, bool], Use] = {}
    for event in watched.events:
        at = _bytes(event, watched, moved)
        if at is None:
            continue
        low, high = at
        region = next((one.name for one in regions if one.start <= low < one.start + one.size), DYNAMIC)
        frames = module.frames(event.meaning.site)
        barrier = event.meaning.kind.startswith("mbar")
        key = frames[0] if frames else Frame("", 0), region, barrier
        now = event.number
        use = uses.setdefault(key, Use(key[0], region, low, high, now, now, barrier=barrier))
        use.low, use.high, use.last = min(use.low, low), max(use.high, high), event.number
        use.reads += event.meaning.kind in _READS
        use.writes += event.meaning.kind in _WRITES
    if any(use.region == DYNAMIC for use in uses.values()) or asked:
        start = -(-end // PERIOD) * PERIOD if end else 0
        regions.append(Region(DYNAMIC, start, asked or 0, PERIOD if not end else 16))
    inorder = sorted(uses.values(), key=lambda use: (use.low, use.first))
    return MemoryMap(
        kernel.name, module.arch, tuple(regions), tuple(inorder),
        _tensor(kernel, module), asked, parse_arch(module.arch).smem_per_block_bytes, len(watched.events),
        watched.complete,
    )  # fmt: skip


def _bytes(event: Event, watched: Watched, moved: dict[str, int]) -> tuple[int, int] | None:
    """The first byte of shared memory that an event touches, and the one after the last; None for none."""
    meaning, values = event.meaning, event.values
    if event.doubt or not values:
        return None
    if meaning.kind == "wgmma":
        return _operands(event)
    if not (meaning.kind in _READS or meaning.kind in _WRITES or meaning.kind.startswith("mbar")):
        return None
    threads = watched.launch.threads
    row = event.numbers(0, threads)
    active = lanes_of(event, threads)
    if meaning.kind in ("matrix_read", "matrix_write"):
        active = active & (np.arange(threads) % 32 < meaning.count)
    if meaning.space not in IN_SHARED or not active.any():
        return None
    row = row[active]
    if meaning.space == "generic" and spaces.space_of(0, row) not in ("smem", "dsmem"):
        return None
    row = row & (spaces.SHARED_BYTES - 1)
    return int(row.min()), int(row.max()) + _size(event, moved)


def _size(event: Event, moved: dict[str, int]) -> int:
    meaning = event.meaning
    if meaning.kind.startswith("mbar"):
        return 8
    if meaning.size:
        return meaning.size
    if meaning.facts.get("tensor"):
        return moved.get(meaning.site, 16)
    return int(np.max(event.bulk[0])) if event.bulk is not None else 16


def _operands(event: Event) -> tuple[int, int] | None:
    """The bytes of the operands of a wgmma that lie in shared memory."""
    facts = event.meaning.facts
    rows = [int(facts["m"]), int(facts["n"])][-len(event.values) :]
    found: list[IntArray] = []
    for value, count, major in zip(event.values, rows, facts["majors"], strict=False):
        descriptor = int(np.asarray(value).flat[0])
        found.append(operand(descriptor, range(count), major))
    if not found:
        return None
    return min(int(at.min()) for at in found), max(int(at.max()) for at in found) + UNIT


def _tensor(kernel: WatchedKernel, module: TracedModule) -> TensorMemory:
    def places(name: str) -> Iterator[tuple[Frame, int | None]]:
        for op in kernel.operation.walk():
            if not op.name.startswith(f"nvvm.tcgen05.{name}"):
                continue
            frames = module.frames(tag(op))
            made = op.operands[-1].definition if op.operands else None
            columns = None if made is None else integer(made.attributes.get("value", "").partition(" : ")[0])
            yield frames[0] if frames else Frame("", 0), columns

    return TensorMemory(
        tuple(places("alloc")),
        tuple(where for where, _ in places("dealloc")),
        tuple(where for where, _ in places("relinquish")),
    )
