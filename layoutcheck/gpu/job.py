"""`Job`: one copy made ready to run: memory images, every thread's pointers, and what should come out.

`plan(copy)` is pure arithmetic: it needs neither GPU nor DSL. What it predicts comes from `execution`; what
the layouts ask for, from `intent`; the two are kept apart, so that a run can confirm or refute each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.copies.addresses import thread_offsets
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.execution import Execution, execution
from layoutcheck.copies.intent import intent, thread_intent
from layoutcheck.copies.lanes import lane_offsets
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import NOTHING, Intent
from layoutcheck.copies.offsets import IntArray
from layoutcheck.copies.witness import bases, witnesses
from layoutcheck.gpu.completion import STALLED, UNSETTLED, arriving_bytes, expected_bytes, fields
from layoutcheck.gpu.images import (
    ANY,
    GUARD_BYTES,
    OUTSIDE,
    POISON,
    SHARED,
    SHARED_START,
    ZERO,
    Arena,
    NotRunnable,
    arena,
)
from layoutcheck.gpu.predicate import Predicate, predicate_of
from layoutcheck.machine.atoms import LdMatrix, S2TCopy, StMatrix, TmaCopy, TmemLoad, TmemStore
from layoutcheck.rules.facts import Facts

# Shared operands begin here: low bits are the model's, nothing of the block's lies below.
SHARED_BASE = 1 << 14
# CUDA C++ Programming Guide, compute capability 9.0: 227 KiB a block.
SHARED_MOST_BYTES = 227 * 1024 - SHARED_START
IMAGE_MOST_BYTES = 1 << 26
_KEEP = SHARED_BASE - 1
UNMEETABLE = ("unmatched", "overlap", "outside_pred")  # kinds of difference (copies/difference.py)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One operand of a thread: a pointer of `width` bytes to byte `at` of `side`'s image, then `tail`."""

    side: str
    at: int
    width: int
    tail: bytes

    def data(self, images: dict[str, int]) -> bytes:
        """The bytes of the kernel's parameter, where each side's image begins at `images[side]`."""
        return (self.at + images[self.side]).to_bytes(self.width, "little") + self.tail


@dataclass(frozen=True, slots=True)
class Job:
    """`threads` threads run the kernel; `parameters[t]` are those of thread t, one an operand.

    `predicted` and `asked` give the contents of every unit of the destination after the copy: a unit of the
    source's image, or POISON, ZERO, ANY. `unmeetable` counts what no machine can do: elements without a
    partner, units of which two contents are asked, predicate entries that do not exist. `fault` is the fault
    that the model expects, or empty; `predicate` the image of all threads' predicates.
    """

    copy: Copy
    witness: Copy
    src: Arena
    dst: Arena
    threads: int
    parameters: tuple[tuple[Parameter, ...], ...]
    predicted: IntArray
    asked: IntArray
    unmeetable: int
    fault: str
    predicate: bytes
    expect_bytes: int | None = None  # what the barrier is told of; None where there is none

    @property
    def blocks(self) -> int:
        """Blocks that are launched, as one cluster where there are several."""
        return self.copy.cluster.blocks if self.copy.cluster else 1

    @property
    def receivers(self) -> tuple[int, ...]:
        """The blocks whose shared memory, or global memory for all of them, the copy writes to."""
        return self.copy.cluster.receivers if self.copy.cluster else (0,)

    @property
    def expect(self) -> bytes:
        """What the barrier of each block is told of: 4 bytes a block."""
        told = self.copy.cluster.told if self.copy.cluster else (0,)
        counts = [(self.expect_bytes or 0) if rank in told else 0 for rank in range(self.blocks)]
        return b"".join(count.to_bytes(4, "little") for count in counts)

    @property
    def shared(self) -> Arena | None:
        """The operand in shared memory; the destination, whose image holds both, where both are."""
        return self.dst if self.dst.space in SHARED else self.src if self.src.space in SHARED else None

    @property
    def both_shared(self) -> bool:
        """Whether the source lies in shared memory below the destination."""
        return self.src.space in SHARED and self.dst.space in SHARED


def plan(copy: Copy) -> Job:
    """The job that shows the model's verdict: at the run-time values and addresses where it sees the worst.

    Raises NotRunnable (an InputError) for copies that do not fit on the device, InputError for forms not
    modelled.
    """
    if isinstance(copy.atom, (TmemLoad, TmemStore, S2TCopy)):
        raise NotRunnable("tensor memory has no address that a harness could fill or read back")
    facts = Facts(copy)
    if facts.obstacle is not None:
        raise facts.obstacle
    if facts.worst is not None:
        witness, src_base, dst_base = facts.worst.witness, facts.worst.src_base, facts.worst.dst_base
    else:
        witness = witnesses(copy)[-1]
        src_base, dst_base = bases(witness)[0]
    if isinstance(copy.atom, TmaCopy) and str(copy.src.dtype) == "tf32":
        raise NotRunnable("a tensor map of tf32 rounds its elements: they do not arrive bit for bit")
    src_base, dst_base = (
        SHARED_BASE + (base & _KEEP) if memref.space in SHARED else base
        for memref, base in ((witness.src, src_base), (witness.dst, dst_base))
    )
    if witness.src.space in SHARED and witness.dst.space in SHARED:
        src_base, dst_base = _side_by_side(copy, witness, src_base, dst_base)
    done = execution(copy, src_base, dst_base, witness)
    # A thread's predicate guards its own elements, of which a whole tile's intent knows nothing.
    asked = (thread_intent if witness.pred is not None else intent)(witness, src_base, dst_base)
    matrix = isinstance(copy.atom, (LdMatrix, StMatrix))
    lanes = matrix and copy.tiling is None
    sides = []
    for side, memref, base in (("src", witness.src, src_base), ("dst", witness.dst, dst_base)):
        touched = [getattr(done, side), getattr(asked, side)]
        found = arena(
            memref.space, base, lanes and memref.space == "smem", touched, done.unit_bits, done.src.shape[1]
        )
        if found.space in SHARED and found.size_bytes > SHARED_MOST_BYTES:
            raise NotRunnable(f"{memref.layout} needs {found.size_bytes} B of shared memory")
        if found.size_bytes > IMAGE_MOST_BYTES:
            raise NotRunnable(f"{memref.layout} needs an image of {found.size_bytes} B")
        sides.append(found)
    src, dst = sides
    _refuse_odd_registers(copy, done, src_base, dst_base)
    _refuse_dead_loads(copy, done)
    mixed = facts.effect is None or bool(facts.effect["guard"])
    given = predicate_of(copy, witness, done, asked, mixed)
    threads = done.src.shape[1]
    block = copy.tiling.block_threads if copy.tiling and copy.tiling.block_threads else None
    threads = max(threads, block or 0)
    if threads > 1024:
        raise NotRunnable(f"{threads} threads are more than a block has")
    if isinstance(copy.atom, TmaCopy):
        fault = _tma_fault(done, src, dst)
        arriving = done.dst.size * done.unit_bits // 8
        told = None if copy.issue is None else copy.issue.expect_bytes
        expect_bytes: int | None = asked.dst.size * asked.unit_bits // 8 if told is None else told
        if not fault and copy.atom.kind == "load" and expect_bytes is not None and arriving < expect_bytes:
            fault = STALLED
        threads, done = 0, _at_once(done)  # one warp, whose parameters the harness makes
    else:
        fault = done.fault or _fault(done, src, dst, given)
        expect_bytes = expected_bytes(copy, done, asked, given)
        if not fault and expect_bytes is not None:
            arriving = arriving_bytes(done, given)
            fault = STALLED if arriving < expect_bytes else UNSETTLED if arriving > expect_bytes else ""
    cluster = copy.cluster
    if cluster is not None and not fault and not set(cluster.told) <= set(cluster.receivers):
        fault = STALLED
    return Job(
        copy,
        witness,
        src,
        dst,
        threads,
        tuple(_parameters(copy, witness, src, dst, t, threads, given) for t in range(threads)),
        _after_execution(done, src, dst, given),
        _after_intent(asked, src, dst, given, done.zero_fills),
        sum(facts.effect[kind] for kind in UNMEETABLE) if facts.effect else 0,
        fault,
        given.image,
        expect_bytes,
    )


def _tma_fault(done: Execution, src: Arena, dst: Arena) -> str:
    """The fault of a TMA copy: of what is asked, of a box's place in shared memory, of global addresses."""
    for access in (*done.src_accesses, *done.dst_accesses):
        if (access.addresses % access.multiple_bytes).any():
            return "misaligned"
    for place, moves in ((src, done.src), (dst, done.dst)):
        if place.space != "smem" and (place.index(moves[moves != NOTHING]) == OUTSIDE).any():
            return "unmapped"
    return done.fault


def _at_once(done: Execution) -> Execution:
    """All moves as one: boxes are not ordered among each other."""
    return done._replace(src=done.src.reshape(1, 1, -1), dst=done.dst.reshape(1, 1, -1))


def _side_by_side(copy: Copy, witness: Copy, src_base: int, dst_base: int) -> tuple[int, int]:
    """Bases in one shared window: the destination's above all that is read of the source."""
    done = execution(copy, src_base, dst_base, witness)
    read = np.concatenate([done.src.reshape(-1), intent(witness, src_base, dst_base).src.reshape(-1)])
    top = int(read.max(initial=0)) * done.unit_bits // 8 + 2 * GUARD_BYTES
    return src_base, dst_base + -(-(top - SHARED_BASE) // SHARED_BASE) * SHARED_BASE


def _refuse_odd_registers(copy: Copy, done: Execution, src_base: int, dst_base: int) -> None:
    """Registers have no alignment, but in the harness they are memory: what would fault there is not run."""
    accesses = done.src_accesses or done.dst_accesses
    matrix = isinstance(copy.atom, (LdMatrix, StMatrix))
    width = 4 if matrix else max((access.width_bytes for access in accesses), default=1)
    for memref, moves, base in ((copy.src, done.src, src_base), (copy.dst, done.dst, dst_base)):
        odd = memref.proved_align_bytes & (memref.proved_align_bytes - 1)
        if memref.space == "rmem" and odd:
            raise NotRunnable(f"registers are not aligned to {memref.proved_align_bytes} B")
        if memref.space == "rmem" and ((moves[:, :, 0] * done.unit_bits // 8 - base) % width).any():
            raise NotRunnable("registers at odd places are memory in the harness, and would fault there")


def _refuse_dead_loads(copy: Copy, done: Execution) -> None:
    """A load into registers that are overwritten at once is one the compiler may drop, with its fault."""
    written = done.dst[:, 0, :].reshape(-1)
    if copy.dst.space == "rmem" and np.unique(written).size < written.size:
        raise NotRunnable("registers are written twice: the compiler may drop the first load")


def _fault(done: Execution, src: Arena, dst: Arena, given: Predicate) -> str:
    """The fault that the model expects: "misaligned", "unmapped" or none.

    A `cp.async` whose predicate is false still writes (zeros): its destination has to be aligned all the
    same, its source, which is not read, has not (measured on an H200).
    """
    count = done.src.shape[0]
    reads = given.lets(done.pred, done.src, done.never)
    for accesses, place, allowed in (
        (done.src_accesses, src, reads),
        (done.dst_accesses, dst, reads | done.zero_fills),
    ):
        for access in accesses:
            per = max(1, count // max(1, access.addresses.shape[0]))
            lets = allowed[::per][: access.addresses.shape[0]]
            if lets.shape != access.addresses.shape:  # ldmatrix, whose lanes act together, guarded by nothing
                lets = np.broadcast_to(lets[:, :1], access.addresses.shape)
            live = access.addresses[lets]
            if (live % access.multiple_bytes).any():
                return "misaligned"
            if (place.index(live * (8 // place.unit_bits)) == OUTSIDE).any():
                return "unmapped"
    return ""


def _after_execution(done: Execution, src: Arena, dst: Arena, given: Predicate) -> IntArray:
    """The destination's contents after the instructions, in program order; ANY where threads race.

    Two `cp.async` of one thread are not ordered either (measured on an H200: the first may land last).
    """
    asynchronous = bool(done.src_accesses) and done.src_accesses[0].op.startswith("cp.async")
    image = np.full(dst.units, POISON, dtype=np.int64)
    writer = np.full(dst.units, -1, dtype=np.int64)
    allowed = given.lets(done.pred, done.src, done.never)
    threads = np.repeat(np.arange(done.dst.shape[1]), done.dst.shape[2])
    for i in range(done.src.shape[0]):
        at = dst.index(done.dst[i]).reshape(-1)
        value = np.where(done.src[i] == NOTHING, ZERO, src.index(done.src[i])).reshape(-1)
        value = np.where(value == OUTSIDE, ANY, value)
        lets = np.repeat(allowed[i], done.dst.shape[2])
        keep = at != OUTSIDE
        if done.zero_fills:
            value = np.where(lets, value, ZERO)
        else:
            keep &= lets
        at, value, who = at[keep], value[keep], threads[keep]
        order = np.argsort(at, kind="stable")
        at, value, who = at[order], value[order], who[order]
        clash = (at[1:] == at[:-1]) & (value[1:] != value[:-1])
        raced = np.concatenate(
            [
                at[1:][clash],
                at[(writer[at] >= 0) & (asynchronous | (writer[at] != who)) & (image[at] != value)],
            ]
        )
        image[at], writer[at] = value, who
        image[raced] = ANY
    return image


def _after_intent(asked: Intent, src: Arena, dst: Arena, given: Predicate, zero_fills: bool) -> IntArray:
    """The destination's contents that the layouts ask for; ANY where they ask for two things at once."""
    image = np.full(dst.units, POISON, dtype=np.int64)
    allowed = given.lets(asked.pred, asked.src)
    at = dst.index(asked.dst)
    value = np.where(asked.src == NOTHING, ZERO if asked.zeros else ANY, src.index(asked.src))
    if zero_fills:
        value[~allowed] = ZERO
    else:
        at = np.where(allowed[:, :, None], at, OUTSIDE)
    if given.beyond is not None:  # nobody asks for what is past the tile's edge
        at = np.where(given.beyond[:, :, None], OUTSIDE, at)
    at, value = at.reshape(-1), value.reshape(-1)
    keep = at != OUTSIDE
    at, value = at[keep], value[keep]
    order = np.argsort(at, kind="stable")
    at, value = at[order], value[order]
    image[at] = value
    torn = at[1:][(at[1:] == at[:-1]) & (value[1:] != value[:-1])]
    image[torn] = ANY
    return image


def _parameters(
    copy: Copy, witness: Copy, src: Arena, dst: Arena, thread: int, threads: int, given: Predicate
) -> tuple[Parameter, ...]:
    """The kernel's parameters for one thread, one an operand."""
    out: list[Parameter] = []
    matrix = isinstance(copy.atom, (LdMatrix, StMatrix))
    for side, place in (("src", src), ("dst", dst)):
        starts = (lane_offsets if matrix else thread_offsets)(witness, side, threads).reshape(-1)
        memref = witness.side(side)
        at = place.place(place.base + int(starts[thread]) * memref.dtype.bits // 8)
        out.append(_parameter(copy.side(side), memref, side, at))
    if copy.pred is not None and witness.pred is not None:
        row = min(thread, len(given.truth) - 1)  # threads that only stand by have nothing to guard
        out.append(_parameter(copy.pred, witness.pred, "pred", row * given.pitch_bytes))
    return (*out, *(Parameter(side, at, 4, b"") for side, at in fields(copy)))


def _parameter(typed: Memref, static: Memref, side: str, at: int) -> Parameter:
    """Its pointer, then its dynamic leaves as a struct aligned to the widest of them (dsl/lower.py)."""
    width = 4 if typed.space in SHARED else 8
    tail = b""
    widest = 1
    for leaf, value in zip(
        flatten((typed.layout.shape, typed.layout.stride)),
        flatten((static.layout.shape, static.layout.stride)),
        strict=True,
    ):
        if isinstance(leaf, Dynamic):
            size = leaf.bits // 8
            widest = max(widest, size)
            tail += b"\0" * (-len(tail) % size) + int(value).to_bytes(size, "little", signed=True)
    return Parameter(side, at, width, b"\0" * (-width % widest) + tail if tail else b"")
