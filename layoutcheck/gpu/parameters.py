"""A thread's kernel parameters: a pointer an operand, and the run-time leaves of its layout."""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.copies.addresses import thread_offsets
from layoutcheck.copies.atom import WarpAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import lane_offsets
from layoutcheck.copies.memref import Memref
from layoutcheck.gpu.completion import fields
from layoutcheck.gpu.images import SHARED, Arena
from layoutcheck.gpu.predicate import Predicate


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
