"""Instantiation: what a dynamic copy may turn out to be at run time, and where its tensors may lie.

A `?` may be any integer, a `?{div=8}` any multiple of 8, and nothing says that two of them are equal. What
a copy does wrong for one admissible value it does wrong; what no instance shows is not thereby proved.

Instances are hostile on purpose: every dynamic stride is an *odd* multiple of its divisor (so that an
access which needs more alignment than was promised faults), and the strides grow so fast that distinct
coordinates do not meet by accident. A second instance has the smallest such strides, near those of a
compact tensor. Base addresses are hostile too: as aligned as `align<>` says and no more, and, where a
pointer swizzle leaves the choice, with all the bits set that it XORs onto others. Tensor memory is addressed
by lane and column; its base is column 0 of a lane.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, unflatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.addresses import as_stored
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import Access, Execution
from layoutcheck.copies.opaque import CoordTensor
from layoutcheck.copies.tiled import partition
from layoutcheck.errors import InputError

SRC_REGION = 1 << 42
DST_REGION = (1 << 43) + (1 << 31)  # apart from the source in the low 32 bits, too
_COMFORT = 1 << 20  # bytes; more than anything needs


def is_static(copy: Copy) -> bool:
    """Whether every extent and stride of the operands is known."""
    operands = [copy.src, copy.dst, *(one for one in (copy.pred, copy.index, copy.aux) if one is not None)]
    if copy.tiling:
        operands += [copy.tiling.src, copy.tiling.dst]
    return all(m.layout.is_static for m in operands)


def instantiations(copy: Copy) -> tuple[Copy, ...]:
    """Fully static copies that `copy` may be at run time; the copy itself where it is static.

    With a tiling the whole tiles are instantiated and partitioned again, so that the views stay theirs.
    Booleans are the bytes that hold them. Raises InputError where the strides are basis elements, which have
    no place in memory.
    """
    for memref in (copy.src, copy.dst):
        if isinstance(memref, CoordTensor) and copy.needs_map:
            return (copy,)  # coordinates have no place in memory and need none
        if any(isinstance(leaf, Basis) for leaf in flatten(memref.layout.stride)):
            raise InputError(f"{memref.layout} maps to coordinates, not to memory")
    copy = as_stored(copy)
    if is_static(copy):
        return (copy,)
    found: list[Copy] = []
    for grow in (True, False):
        instance = _instantiate(copy, grow)
        if instance not in found:
            found.append(instance)
    return tuple(found)


def _instantiate(copy: Copy, grow: bool) -> Copy:
    if copy.tiling is None:
        convolution = copy.tma.im2col if copy.tma is not None else None
        least = 1 if convolution is None else convolution.least_extent
        return replace(
            copy,
            src=_static_memref(copy.src, grow, 1, least),
            dst=_static_memref(copy.dst, grow, 3, least),
            pred=copy.pred and _static_memref(copy.pred, grow, 5),
            index=copy.index and _static_memref(copy.index, grow, 7),
            aux=copy.aux and _static_memref(copy.aux, grow, 9),
        )
    tiling = copy.tiling
    src = _static_memref(tiling.src, grow, 1)
    dst = _static_memref(tiling.dst, grow, 3)

    def view(side: str, whole: Memref) -> Memref:
        typed = copy.side(side)
        if typed.layout.is_static:  # as it is regrouped, or registers that nobody partitioned
            return typed
        # under the alignment that the compiler proved for the dynamic one
        return typed.with_layout(partition(tiling.tiled, side, whole).view.layout)

    return replace(
        copy,
        src=view("src", src),
        dst=view("dst", dst),
        pred=copy.pred and _static_memref(copy.pred, grow, 5),
        tiling=Tiling(tiling.tiled, src, dst, tiling.block_threads),
    )


def _static_memref(memref: Memref, grow: bool, salt: int, least: int = 1) -> Memref:
    return replace(memref, layout=static_layout(memref.layout, grow, salt, least))


def static_layout(layout: Layout, grow: bool, salt: int = 1, least: int = 1) -> Layout:
    """`layout` with each dynamic leaf replaced by an odd multiple of its divisor; no extent is below `least`.

    With `grow` each stride exceeds everything the modes before it can reach, by a margin that differs with
    `salt`; without, it is the least odd multiple that clears the static part of the layout.
    """
    if layout.is_static:
        return layout
    shape = [
        max(3 * leaf.divisor, _odd_multiple(leaf.divisor, least)) if isinstance(leaf, Dynamic) else leaf
        for leaf in flatten(layout.shape)
    ]
    stride = flatten(layout.stride)
    reach = 1 + sum(
        (n - 1) * abs(d) for n, d in zip(shape, stride, strict=True) if not isinstance(d, Dynamic)
    )
    chosen: list[Any] = []
    for n, d in zip(shape, stride, strict=True):
        if not isinstance(d, Dynamic):
            chosen.append(d)
            continue
        at_least = reach + 97 * salt if grow else max(2, reach)
        value = _odd_multiple(d.divisor, at_least)
        chosen.append(value)
        reach += (n - 1) * value
    return Layout(unflatten(iter(shape), layout.shape), unflatten(iter(chosen), layout.stride))


def _odd_multiple(divisor: int, at_least: int) -> int:
    """The least odd multiple of `divisor` that is not below `at_least`."""
    k = -(-at_least // divisor)
    return divisor * (k | 1)


def bases(copy: Copy) -> tuple[tuple[int, int], ...]:
    """Pairs (source, destination) of base addresses in bytes, the most hostile first.

    Each is a multiple of what `align<>` promises. The first pair is a multiple of no more, has the bits set
    that a pointer swizzle reads; the last is aligned to everything. Registers have one comfortable base.
    With a tiling these are the bases of the whole tiles.
    """
    src, dst = copy.whole("src"), copy.whole("dst")
    pairs: list[tuple[int, int]] = []
    for kind in ("swizzled", "odd", "comfortable"):
        pair = (_base(src, SRC_REGION, kind), _base(dst, DST_REGION, kind))
        if pair not in pairs:
            pairs.append(pair)
    return tuple(pairs)


def same_everywhere(copy: Copy, done: Execution, *, clean: bool = False) -> bool:
    """Whether the static `copy` runs at every pair of `bases` as it does at one, at other addresses alone.

    That is so where the operands promise all the alignment that accesses and swizzles ask about. A swizzle
    asks about its whole period. If the copy is `clean` at one base, a swizzle asks about its granule: it only
    permutes granules, and a copy whose instructions each stay within one granule stays clean at other bases.
    Of the copies of a tensor map and of tensor memory it is not known.
    """
    if copy.needs_map or "tmem" in (copy.src.space, copy.dst.space):
        return False
    for base, view, accesses in (
        (copy.whole("src"), copy.src, done.src_accesses),
        (copy.whole("dst"), copy.dst, done.dst_accesses),
    ):
        multiples = [access.multiple_bytes for access in accesses]
        swizzles = [
            memref.swizzle
            for memref in (base, view, view.recast_from)
            if memref is not None and memref.swizzle is not None and memref.swizzle.bits
        ]
        apart = clean and view.recast_from is None and base.swizzle == view.swizzle
        for swizzle in swizzles:
            within = apart and _within(swizzle.granule, done.chunk_bytes, accesses)
            multiples.append(swizzle.granule if within else swizzle.period)
        if any(base.proved_align_bytes % multiple for multiple in multiples):
            return False
    return True


def _within(granule: int, chunk_bytes: int, accesses: tuple[Access, ...]) -> bool:
    """Whether every chunk that has one swizzled address lies within one granule."""
    return 0 < chunk_bytes <= granule and all(
        bool(
            (
                access.addresses[:: max(1, chunk_bytes // access.width_bytes)] % granule
                <= granule - chunk_bytes
            ).all()
        )
        for access in accesses
    )


def _base(memref: Memref, region: int, kind: str) -> int:
    align = memref.proved_align_bytes
    grid = max(_COMFORT, 2 * align) if not align & (align - 1) else 2 * align
    comfortable = region // grid * grid + grid
    if kind == "comfortable" or memref.space in ("rmem", "tmem"):
        return comfortable
    swizzle = memref.swizzle
    odd = align
    if kind == "swizzled" and swizzle is not None and swizzle.bits:
        field = ((1 << swizzle.bits) - 1) << (swizzle.base + max(swizzle.shift, 0))
        odd += field // (2 * align) * (2 * align)
    return comfortable + odd
