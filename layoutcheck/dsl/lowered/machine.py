"""The state of an evaluation: values, provenance, the mask of active threads, and what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered.allocations import Allocation
from layoutcheck.dsl.lowered.held import Memory
from layoutcheck.dsl.lowered.record import Mask, Number, Recorded
from layoutcheck.dsl.lowered.registers import Registers
from layoutcheck.dsl.lowered.tensors import Tensor
from layoutcheck.dsl.lowered.values import Reasons, Value
from layoutcheck.machine.arch import WARP
from layoutcheck.sources.mlir import Operation

Step = Callable[[], None]

MOST_ACCESSES = 4096  # of one tag; a full unrolled copy has a few hundred


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is launched; `known` says that the grid comes from the host's code.

    `index` is the block that is evaluated. `dynamic_bytes` is the shared memory that the launch asks for,
    None where that is not a number that the host's code has. `early` says that it may begin before the kernel
    that precedes it has ended (programmatic stream serialization). `rests` says what the grid and cluster
    rest on: "static", "extents" (numbers for dynamic extents and strides) or "arguments". With `blocks`
    these blocks are evaluated side by side, as one of so many times the threads; warps must be whole.
    `held` are the bytes of the tensors in global memory that the host's function is given, by object:
    what it divides into tiles has as many, whatever the tiles' type says. `tensors` are these tensors,
    `fixed` those of static extents, `memories` what is known to lie in them.
    """

    block: tuple[int, int, int] = (1, 1, 1)
    grid: tuple[int, int, int] = (1024, 1, 1)
    cluster: tuple[int, int, int] = (1, 1, 1)
    known: bool = False
    index: tuple[int, int, int] = (0, 0, 0)
    dynamic_bytes: int | None = None
    early: bool = False
    rests: str = "arguments"
    blocks: tuple[tuple[int, int, int], ...] = ()
    held: dict[int, int] = field(default_factory=dict, compare=False)
    tensors: dict[int, Tensor] = field(default_factory=dict, compare=False)
    fixed: frozenset[int] = field(default=frozenset(), compare=False)
    memories: dict[int, Memory] = field(default_factory=dict, compare=False)

    @property
    def threads(self) -> int:
        """Threads of a block, or of all `blocks`."""
        return self.block[0] * self.block[1] * self.block[2] * max(1, len(self.blocks))

    @property
    def indices(self) -> tuple[Number, Number, Number]:
        """The block's index along each axis, with `blocks` one for each thread."""
        if not self.blocks:
            return self.index
        each = self.threads // len(self.blocks)
        x, y, z = (np.repeat(np.array(axis, np.int64), each) for axis in zip(*self.blocks, strict=True))
        return x, y, z

    @property
    def rank(self) -> int:
        """The block's rank in its cluster: x runs fastest (PTX ISA, %cluster_ctarank)."""
        x, y, z = (i % n for i, n in zip(self.index, self.cluster, strict=True))
        return x + self.cluster[0] * (y + self.cluster[1] * z)

    @property
    def ranks(self) -> Number:
        """`rank`, with `blocks` one for each thread."""
        x, y, z = (i % n for i, n in zip(self.indices, self.cluster, strict=True))
        return x + self.cluster[0] * (y + self.cluster[1] * z)


@dataclass(slots=True)
class Machine:
    """`values[slot]` and `provenance[slot]` of every SSA value; see values.py for what they hold."""

    launch: Launch
    values: list[Value]
    provenance: list[int]
    reasons: Reasons = field(default_factory=Reasons)
    registers: Registers = field(default_factory=Registers)
    accesses: dict[str, list[Recorded]] = field(default_factory=dict)
    notes: set[str] = field(default_factory=set)
    mask: Mask | None = None
    guard: int = 0  # what the branches taken rest on
    reached: bool = True
    iterations: tuple[int, ...] = ()
    shared_bytes: int = 0  # of the static allocations that were met
    fixed_bytes: int = 0  # of these and of the arrays of a fixed size, once one of their symbols is met
    dynamic: int | None = None  # where dynamic shared memory begins, once its symbol is met
    placed: Mapping[Operation, Allocation] = field(default_factory=dict)  # shared allocations put elsewhere
    begun: dict[Operation, int] = field(default_factory=dict)  # where allocations that were met begin
    overflow: int = 0  # the bit of numbers that rest on 32-bit arithmetic that overflowed; 0: not looked for
    tried: set[int] = field(default_factory=set)
    steps: int = 0
    seen: Callable[[Recorded], None] | None = None  # takes what is met; of a tag one is kept then
    kept: int = 0  # accesses recorded, of all tags
    dropped: set[str] = field(default_factory=set)  # tags that had more accesses than are kept
    tid: tuple[IntArray, IntArray, IntArray] = field(init=False)
    lane: IntArray = field(init=False)
    special: dict[str, Value] = field(init=False)  # `nvvm.read.ptx.sreg.*`: what its result is

    def __post_init__(self) -> None:
        x, y, z = self.launch.block
        thread = np.arange(self.launch.threads, dtype=np.int64) % (x * y * z)
        self.tid = (thread % x, thread // x % y, thread // (x * y))
        self.lane = thread & 31
        self.special = special_registers(self.launch, self.tid, self.lane)

    def rests_of(self, slots: Iterable[int]) -> int:
        """What the values in these slots rest on."""
        bits = 0
        for slot in slots:
            bits |= self.provenance[slot]
        return bits

    def restart(self, launch: Launch, known: Mapping[tuple[str, str], int]) -> None:
        """As it was made, for another run of the same steps, which hold its lists and its reasons.

        `launch` has as many threads; `known` are the reasons that the steps were made with.
        """
        self.reasons.restart(known)
        new = Machine(launch, [0] * len(self.values), [self.unknown] * len(self.values))
        self.values[:], self.provenance[:] = new.values, new.provenance
        for one in fields(Machine):
            if one.name not in ("values", "provenance", "reasons"):
                setattr(self, one.name, getattr(new, one.name))

    @property
    def unknown(self) -> int:
        """What a value rests on that no step has made."""
        return self.reasons.bit("blocked", "arithmetic on data")

    def record(self, access: Recorded) -> None:
        """Keep an access under its tag; those of branches not taken only until the tag is met for real."""
        found = self.accesses.setdefault(access.tag, [])
        access.active, access.reached, access.guard = self.mask, self.reached, self.guard
        access.iterations, access.number = self.iterations, self.kept
        if self.reached and found and not found[0].reached:
            found.clear()
        if self.seen is not None and self.reached:
            self.seen(access)
            if found:
                return
        if self.reached or not found or not found[0].reached:
            if len(found) < MOST_ACCESSES:
                found.append(access)
                self.kept += 1
            else:
                self.dropped.add(access.tag)

    @property
    def all_shared_bytes(self) -> int:
        """Static and dynamic shared memory of the block; 0 where the dynamic part is used and not known."""
        if self.dynamic is None:
            return max(self.shared_bytes, self.fixed_bytes)
        asked = self.launch.dynamic_bytes
        return 0 if asked is None else self.dynamic + asked

    def met(self, tags: Any) -> bool:
        """Whether every one of the tags was met for real."""
        return all(tag in self.accesses and self.accesses[tag][0].reached for tag in tags)

    def same_by_warp(self, value: Number) -> bool:
        """Whether the active lanes of every warp have the same number."""
        if isinstance(value, int):
            return True
        active = np.arange(value.size) if self.mask is None else np.flatnonzero(self.mask)
        held, warp = value[active], active // WARP
        return not ((held[1:] != held[:-1]) & (warp[1:] == warp[:-1])).any()

    def shared_by_warp(self, provenance: int) -> int:
        """The provenance of a lane's value that its whole warp gets: what it rests on is uniform now."""
        for (kind, sentence), bit in list(self.reasons.known.items()):
            if kind in ("data", "blocked") and provenance & bit:
                one = f"one of the {sentence}" if kind == "data" else f"a lane's value ({sentence})"
                provenance = provenance & ~bit | self.reasons.bit("uniform", f"{one}, given to a whole warp")
        return provenance


def special_registers(
    launch: Launch, tid: tuple[IntArray, IntArray, IntArray], lane: IntArray
) -> dict[str, Value]:
    """What the operations that read special registers return."""
    cluster = launch.cluster[0] * launch.cluster[1] * launch.cluster[2]
    each = launch.threads // max(1, len(launch.blocks))
    found: dict[str, Value] = {
        "laneid": lane if launch.threads > 1 else 0,
        "warpsize": 32,
        "warpid": np.arange(launch.threads, dtype=np.int64) % each // 32,
        "nwarpid": -(-each // 32),
        "cluster.ctarank": launch.ranks,
        "cluster.nctarank": cluster,
        "is.explicit.cluster": int(cluster > 1),
    }
    for i, axis in enumerate("xyz"):
        found[f"tid.{axis}"] = tid[i] if launch.block[i] > 1 else 0
        found[f"ntid.{axis}"] = launch.block[i]
        found[f"nctaid.{axis}"] = launch.grid[i]
        index = launch.indices[i]
        found[f"ctaid.{axis}"] = index
        found[f"clusterid.{axis}"] = index // launch.cluster[i]
        found[f"cluster.ctaid.{axis}"] = index % launch.cluster[i]
        found[f"nclusterid.{axis}"] = -(-launch.grid[i] // launch.cluster[i])
        found[f"cluster.nctaid.{axis}"] = launch.cluster[i]
    return {f"nvvm.read.ptx.sreg.{name}": value for name, value in found.items()}
