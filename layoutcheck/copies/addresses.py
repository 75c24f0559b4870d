"""Byte addresses of the elements of a tensor, after its pointer's swizzle, and of the threads of a tiling.

Addresses count units of 8 bits; of 4 bits for 4-bit types (address * 2 + nibble), of 2 bits for 6-bit ones.
Registers are a private space: thread t's begin at `PRIVATE * t`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import Places, each_unit
from layoutcheck.copies.offsets import IntArray, offsets, offsets_at, size
from layoutcheck.copies.tiled import partition, tile_indices
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype

PRIVATE = 1 << 47  # between the registers of two threads
AUX_APART = 1 << 40  # between a thread's two destinations


def as_stored(copy: Copy) -> Copy:
    """The copy with its booleans as the bytes that hold them, where a thread moves them by its own loads."""
    both = (copy.src, copy.dst)
    if any(m.dtype.bits != 1 for m in both) or (copy.atom is not None and not copy.atom.booleans):
        return copy
    src, dst = (replace(m, dtype=dtype("i8")) for m in both)
    return replace(copy, src=src, dst=dst)


def unit_bits(copy: Copy) -> int:
    """Bits an address counts: 8, 4 for 4-bit types, 2 for 6-bit ones (only bulk copies take them)."""
    bits = copy.src.dtype.bits
    if bits != copy.dst.dtype.bits:
        raise InputError(
            f"the elements of {copy.src.dtype} and {copy.dst.dtype} differ in width: "
            f"element i of one has no place in element i of the other"
        )
    if bits >= 4 and bits & (bits - 1) == 0:
        return 4 if bits == 4 else 8
    if bits == 6 and copy.atom is not None and copy.atom.six_bits:
        return 2
    raise InputError(f"copies of {bits}-bit elements are not modelled")


def address_bits(memref: Memref) -> int:
    """Bits that one element counts in an address."""
    return 8 if memref.dtype.bits in (1, 6) else memref.dtype.bits


def matrix_unit(copy: Copy) -> int:
    """Bits that the addresses of a matrix copy count: 4 where a side has 4-bit elements, else 8."""
    return 4 if 4 in (copy.src.dtype.bits, copy.dst.dtype.bits) else 8


def addresses(memref: Memref, base: int, elements: IntArray, unit: int) -> IntArray:
    """The units of each element at `elements` (offsets from the base): [..., unit of the element]."""
    return places(memref, base, elements, unit).units


def places(memref: Memref, base: int, elements: IntArray, unit: int) -> Places:
    """The same, [element, thread], as the places of moves of one element each.

    The swizzle acts on the address of every byte. A tensor that was recast is read where the original's
    elements lie, which is what its author meant, not where the recast strides point.
    """
    memref = before_recast(memref)
    per_element = max(1, memref.dtype.bits // unit)
    first = elements * per_element
    first += base * (8 // unit)
    swizzle = memref.swizzle
    whole = swizzle is not None and unit == 8 and swizzle.granule % per_element == 0
    if whole and not (first & (per_element - 1)).any():  # the swizzle keeps every element together
        return Places(swizzled(memref, first, unit), per_element)
    if swizzle is None or swizzle.bits == 0:
        return Places(first, per_element)
    return Places.of(swizzled(memref, each_unit(first, per_element), unit))


def swizzled(memref: Memref, at: IntArray, unit: int) -> IntArray:
    """Addresses after the pointer's swizzle, which acts on bytes."""
    if memref.swizzle is None or memref.swizzle.bits == 0:
        return at
    if unit < 8:
        per_byte = 8 // unit
        return memref.swizzle(at // per_byte) * per_byte + at % per_byte
    return memref.swizzle(at)


def before_recast(memref: Memref) -> Memref:
    """A recast tensor under the swizzle of the one that it was recast from, which a recast drops."""
    original = memref.recast_from
    if original is None or original.swizzle is None or memref.swizzle is not None:
        return memref
    return replace(memref, swizzle=original.swizzle)


def recast_offsets(memref: Memref) -> IntArray | None:
    """Byte offsets [element, byte] of a recast tensor's elements in the tensor it was recast from.

    The original's mode of stride 1 is the one whose elements were fused. None where the shapes do not tell.
    """
    original = memref.recast_from
    if original is None or memref.dtype.bits % max(8, original.dtype.bits):
        return None
    ratio = memref.dtype.bits // original.dtype.bits
    new, old = flatten(memref.layout.shape), flatten(original.layout.shape)
    strides = flatten(original.layout.stride)
    if len(new) != len(old):
        return None
    changed = [i for i, (a, b) in enumerate(zip(new, old, strict=True)) if a != b]
    if len(changed) != 1 or new[changed[0]] * ratio != old[changed[0]] or strides[changed[0]] != 1:
        return None
    fused = tuple(d * ratio if i == changed[0] else d for i, d in enumerate(strides))
    width = original.dtype.bits // 8
    element = offsets(Layout.trusted(new, fused)) * width
    return element[:, None] + np.arange(memref.dtype.bits // 8, dtype=np.int64)


def thread_offsets(copy: Copy, side: str, count: int | None = None) -> IntArray:
    """What each thread adds to the base, in elements: of the `count` threads (default: all of the tiling's).

    Without a tiling one thread, at 0. Threads past the tiling continue its last mode, as `get_slice` does.
    """
    memref = copy.side(side)
    private = PRIVATE * 8 // memref.dtype.bits if memref.space == "rmem" else 0
    if copy.tiling is None:
        return np.arange(count or 1, dtype=np.int64) * private
    whole = copy.whole(side)
    if private:  # the lanes of a warp's atom count, also where the thread layout names fewer
        lanes, _ = tile_indices(copy.tiling.tiled, side)
        return np.arange(count or size(lanes), dtype=np.int64) * private
    threads = partition(copy.tiling.tiled, side, whole).thread
    return offsets_at(threads, np.arange(count or size(threads), dtype=np.int64))
