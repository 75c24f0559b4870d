"""`Job`: one copy made ready to run: memory images, every thread's pointers, and what should come out."""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.copies.addresses import thread_offsets
from layoutcheck.copies.atom import WarpAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import lane_offsets
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import IntArray
from layoutcheck.gpu.completion import fields
from layoutcheck.gpu.images import SHARED, Arena
from layoutcheck.gpu.predicate import Predicate


@dataclass(frozen=True, slots=True)
class Job:
    """`threads` threads run the kernel; `parameters[t]` are those of thread t, one an operand.

    `predicted` and `asked` give the contents of every unit of the destination after the copy: a unit of the
    source's image, or POISON, ZERO, ANY. `unmeetable` counts what no machine can do: elements without a
    partner, units of which two contents are asked, predicate entries that do not exist. `fault` is the fault
    that the model expects, or empty; `predicate` the image of all threads' predicates.
    """

    copy: Copy
    instance: Copy
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
    def digit_bits(self) -> int:
        """Bits of a unit that arrive in any case: of a boolean's byte the compiler may clear all but one."""
        return 1 if 1 in (self.copy.src.dtype.bits, self.copy.dst.dtype.bits) else self.src.unit_bits

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


def parameters_of(
    copy: Copy, instance: Copy, src: Arena, dst: Arena, thread: int, threads: int, given: Predicate
) -> tuple[Parameter, ...]:
    """The kernel's parameters for one thread, one an operand."""
    out: list[Parameter] = []
    matrix = isinstance(copy.atom, WarpAtom)
    for side, place in (("src", src), ("dst", dst)):
        starts = (lane_offsets if matrix else thread_offsets)(instance, side, threads).reshape(-1)
        memref = instance.side(side)
        at = place.place(place.base + int(starts[thread]) * memref.dtype.bits // 8)
        out.append(_parameter(copy.side(side), memref, side, at))
    if copy.pred is not None and instance.pred is not None:
        row = min(thread, len(given.truth) - 1)  # threads that only stand by have nothing to guard
        out.append(_parameter(copy.pred, instance.pred, "pred", row * given.pitch_bytes))
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
