"""The widest vector a copy can move, and what would have to be promised for a wider one.

A vector of n elements needs n values of V that are adjacent, in V's order, in source and destination, at an
address proved to be a multiple of the vector: the base, every stride that leads from one vector to another,
and, through a swizzled pointer, no more than the 2^m bytes that S<b,m,s> keeps together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from layoutcheck.algebra import integers, inttuple
from layoutcheck.algebra.integers import Dynamic, Int
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import Leaf, dotted, leaves
from layoutcheck.algebra.simplify import merged
from layoutcheck.copies.alignment import align_bits, storage_bits
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError

WIDEST_BITS = 128  # of one load or store of a thread (256 in global memory from sm_100 on)


class VectorWidth(NamedTuple):
    """`bits`: the widest power of two that both sides bear; `limit` names what keeps it from being wider.

    `src_align_bytes` and `dst_align_bytes` are the base addresses' alignments after any swizzle;
    `common_elements` how many values, in V's order, are adjacent on both sides.
    """

    bits: int
    src_align_bytes: int
    dst_align_bytes: int
    common_elements: int
    limit: str


class Promise(NamedTuple):
    """A missing fact: a pointer's alignment (bytes), `divby` (elements) of a mode's stride; or none helps.

    `kind` is "assumed_align", "byte_alignment" (of shared memory, which the kernel allocates), "divby" or
    "impossible"; `why` says what stands in the way of the last.
    """

    kind: str
    value: int = 0
    path: tuple[int, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        if self.kind == "assumed_align":
            return f"assumed_align={self.value} on the pointer"
        if self.kind == "byte_alignment":
            return f"byte_alignment={self.value} in its allocation"
        if self.kind == "divby":
            return f"divby={self.value} on the stride of mode {dotted(self.path)}"
        return f"impossible: {self.why}"


def max_vector(src: Memref, dst: Memref) -> VectorWidth:
    """The widest vector that the views `src` and `dst` of one copy both allow.

    Raises InputError where their elements differ in width.
    """
    element = storage_bits(src.dtype)
    if storage_bits(dst.dtype) != element:
        raise InputError(f"elements of {src.dtype} and {dst.dtype} differ in width")
    runs = [_run(m.layout[0]) for m in (src, dst)]
    limits = [(WIDEST_BITS, f"{WIDEST_BITS} bits is the widest access")]
    for side, (run, after) in zip(("src", "dst"), runs, strict=True):
        if after is not None:
            where = f"after {run} elements" if run > 1 else ""
            limits.append((_even(run) * element, f"{side} mode 0 stride {after} {where}".rstrip()))
    for side, memref, (run, _) in zip(("src", "dst"), (src, dst), runs, strict=True):
        if memref.space != "rmem":  # registers have no address
            limits += _address_limits(side, memref, run, element)
    limits += [(_even(run) * element, f"V has {run} elements") for run, after in runs if after is None]
    bits, limit = min(limits, key=lambda one: one[0])
    common = math.gcd(runs[0][0], runs[1][0])
    return VectorWidth(bits, src.access_align_bytes, dst.access_align_bytes, common, limit)


def contiguous_mode(layout: Layout) -> int | None:
    """The top-level mode whose first step is one element, if any."""
    for i, mode in enumerate(layout.modes):
        pairs = zip(inttuple.flatten(mode.shape), inttuple.flatten(mode.stride), strict=True)
        if next((stride for extent, stride in pairs if extent != 1), None) == 1:
            return i
    return None


def missing_promises(memref: Memref, width_bits: int) -> tuple[Promise, ...]:
    """What is not known but would make every vector of `width_bits` along the contiguous modes aligned.

    Empty where nothing is missing. An "impossible" one stands alone: nothing helps against a static stride.
    """
    element = storage_bits(memref.dtype)
    n = max(1, width_bits // element)
    moving = [leaf for leaf in leaves(memref.layout) if leaf.extent != 1]
    run, inside = _contiguous(moving)
    if n > 1 and run % n:
        if not any(isinstance(leaf.stride, Dynamic) for leaf in moving) or run > 1:
            return (Promise("impossible", why=f"only {run} elements are contiguous, {n} are needed"),)
        return (Promise("impossible", why="no mode has the static stride 1"),)
    promises: list[Promise] = []
    if memref.swizzle is not None and memref.swizzle.bits and memref.swizzle.granule * 8 < width_bits:
        why = f"the swizzle {memref.swizzle} keeps only {memref.swizzle.granule} B together"
        return (Promise("impossible", why=why),)
    if memref.space != "rmem" and align_bits(memref) % width_bits:
        kind = "byte_alignment" if memref.space == "smem" else "assumed_align"
        promises.append(Promise(kind, math.lcm(width_bits, 8) // 8))
    for path, _, stride in moving:
        if path in inside or integers.divisor(stride) % n == 0:
            continue
        if not isinstance(stride, Dynamic):
            why = f"the static stride {stride} of mode {dotted(path)} is not a multiple of {n}"
            return (Promise("impossible", path=path, why=why),)
        promises.append(Promise("divby", n, path))
    return tuple(promises)


def _run(v: Layout) -> tuple[int, Int | None]:
    """How many of V's first values are adjacent, and the stride that ends the run (None: V ends)."""
    shapes, strides = merged(inttuple.flatten(v.shape), inttuple.flatten(v.stride))
    if shapes[0] == 1:
        return 1, None
    if strides[0] != 1 or isinstance(shapes[0], Dynamic):
        return 1, strides[0]
    return shapes[0], strides[1] if len(shapes) > 1 and shapes[1] != 1 else None


def _address_limits(side: str, memref: Memref, run: int, element: int) -> Iterator[tuple[int, str]]:
    """(widest bits, why) of everything that the address of a vector is made of."""
    base = align_bits(memref)
    if base % 8:
        yield _even(base), f"{side} has no proved alignment"
    else:
        yield _even(base), f"{side} align<{base // 8}>"
    begun = 1  # V's values up to here
    for path, extent, stride in leaves(memref.layout):
        first = not path or path[0] == 0
        outside = not first or begun >= run
        if first and isinstance(extent, int):
            begun *= extent
        if outside and extent != 1 and stride != 0:
            mode = dotted(path)
            yield _even(integers.divisor(stride) * element), f"{side} stride {stride} of mode {mode}"
    if memref.swizzle is not None and memref.swizzle.bits:
        granule = memref.swizzle.granule
        yield granule * 8, f"{side} swizzle {memref.swizzle} keeps {granule} B together"


def _contiguous(moving: list[Leaf]) -> tuple[int, set[tuple[int, ...]]]:
    """The elements contiguous from stride 1 on, and the modes they run through."""
    run, inside = 1, set()
    static = [(d, s, path) for path, s, d in moving if isinstance(d, int) and isinstance(s, int)]
    for stride, extent, path in sorted(static):
        if stride == run:
            run *= extent
            inside.add(path)
    return run, inside


def _even(n: int) -> int:
    """The largest power of two that divides n."""
    return n & -n
