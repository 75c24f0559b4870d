"""Intent: what the layouts of a copy say, as byte addresses.

Element i of the source view goes to element i of the destination view. For the atoms of a warp (ldmatrix,
stmatrix) "element i" is a coordinate of the matrices: the source element that one lane brings and the
destination element that another lane gets are the same where the atom's thread-value layouts name the same
bit. With a tiling whose sides both lie in shared memory of the block (not registers), the intent is of the
whole tiles, whoever moves what.

`src[i, t, k]` and `dst[i, t, k]` are the absolute addresses of byte k of element i of thread t, after the
pointer's swizzle. In units of 4 bits for 4-bit types (address * 2 + nibble). A tile as a whole has one
"thread". Registers are a private space: thread t's begin at `PRIVATE * t`. NOTHING stands where an element
has no partner. `pred[i]` is the offset, in elements of the predicate, that decides element i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import (
    IntArray,
    has_inner_rest,
    limit,
    offsets,
    offsets_at,
    rest_modes,
    size,
    v_mode,
)
from layoutcheck.copies.tiled import partition
from layoutcheck.errors import InputError
from layoutcheck.machine.atoms import BulkCopy, LdMatrix, S2TCopy, StMatrix, TmaCopy, TmemLoad, TmemStore
from layoutcheck.machine.atoms.traits import traits

NOTHING = -1
PRIVATE = 1 << 47  # between the registers of two threads
_LANE = 1 << 24  # between the rows of two lanes, where only one lane's view is known


@dataclass(frozen=True, slots=True)
class Intent:
    """The element moves that were asked for; see the module's text for the axes.

    `unmatched` counts elements, of one thread, that one side has and the other has not. With `zeros` a
    source of NOTHING asks for a zero (outside of a TMA copy's global tensor).
    """

    src: IntArray
    dst: IntArray
    unit_bits: int
    pred: IntArray | None = None
    unmatched: int = 0
    whole: bool = False
    zeros: bool = False


# Atoms of more than one thread, or of none: what they are asked does not follow from one thread's elements.
_OF_WARPS = (LdMatrix, StMatrix, TmemLoad, TmemStore, S2TCopy, TmaCopy)


def intent(copy: Copy, src_base: int, dst_base: int) -> Intent:
    """The intent of a static copy whose tensors (whole tiles, with a tiling) lie at the given addresses.

    Raises TooLarge for copies of too many bytes, InputError for dynamic layouts and for elements of
    different width on the two sides.
    """
    tiling = copy.tiling
    if not isinstance(copy.atom, _OF_WARPS) and tiling and "rmem" not in (tiling.src.space, tiling.dst.space):
        unit = unit_bits(copy)
        n = min(size(tiling.src.layout), size(tiling.dst.layout))
        sides = []
        for memref, base in ((tiling.src, src_base), (tiling.dst, dst_base)):
            sides.append(addresses(memref, base, offsets(memref.layout)[:n, None], unit))
        unmatched = abs(size(tiling.src.layout) - size(tiling.dst.layout))
        return Intent(sides[0], sides[1], unit, None, unmatched, whole=True)
    return thread_intent(copy, src_base, dst_base)


def thread_intent(copy: Copy, src_base: int, dst_base: int) -> Intent:
    """The intent thread by thread, also of a tiling whose intent is that of the whole tiles.

    Element i of thread t is element i of its views. Raises what `intent` raises.
    """
    if isinstance(copy.atom, (LdMatrix, StMatrix)):
        return _matrix_intent(copy, copy.atom, src_base, dst_base)
    if isinstance(copy.atom, (TmemLoad, TmemStore, S2TCopy)):
        from layoutcheck.copies.tmem import s2t_intent, tmem_intent

        if isinstance(copy.atom, S2TCopy):
            return s2t_intent(copy, copy.atom, dst_base)
        return tmem_intent(copy, copy.atom, src_base, dst_base)
    if isinstance(copy.atom, TmaCopy):
        from layoutcheck.copies.tma.moves import tma_intent

        return tma_intent(copy, src_base, dst_base)
    unit = unit_bits(copy)
    threads = [thread_offsets(copy, side) for side in ("src", "dst")]
    elements = min(size(copy.src.layout), size(copy.dst.layout))
    limit(elements * threads[0].size * max(1, copy.src.dtype.bits // 8))
    src_index, dst_index, unmatched = _pairs(copy.src.layout, copy.dst.layout)
    rest = rest_pairs(copy)
    sides = []
    for memref, base, index, thread in (
        (copy.src, src_base, src_index, threads[0]),
        (copy.dst, dst_base, dst_index, threads[1]),
    ):
        original = recast_offsets(memref) if copy.tiling is None else None
        if original is not None and memref.recast_from is not None and unit == 8:
            sides.append(swizzled(memref.recast_from, original[: index.size * rest, None, :] + base, unit))
            continue
        v = offsets_at(v_mode(memref.layout), index)
        r = _rest_offsets(memref.layout, rest)
        local = (r[:, None] + v).reshape(-1)
        sides.append(addresses(memref, base, local[:, None] + thread, unit))
    return Intent(sides[0], sides[1], unit, pred_of_elements(copy), unmatched)


def unit_bits(copy: Copy) -> int:
    """Bits an address counts: 8, 4 for 4-bit types, 2 for 6-bit ones (only bulk copies take them)."""
    bits = copy.src.dtype.bits
    if bits != copy.dst.dtype.bits:
        raise InputError(
            f"the elements of {copy.src.dtype} and {copy.dst.dtype} differ in width: "
            f"element i of one has no place in element i of the other"
        )
    if bits == 4 or bits % 8 == 0:
        return 4 if bits == 4 else 8
    if bits == 6 and isinstance(copy.atom, BulkCopy):
        return 2
    raise InputError(f"copies of {bits}-bit elements are not modelled")


def addresses(memref: Memref, base: int, elements: IntArray, unit: int) -> IntArray:
    """The units of each element at `elements` (offsets from the base): [..., unit of the element].

    The swizzle acts on the address of every byte. A tensor that was recast is read where the original's
    elements lie, which is what its author meant, not where the recast strides point.
    """
    per_element = max(1, memref.dtype.bits // unit)
    units = np.arange(per_element, dtype=np.int64)
    first = elements * per_element + base * (8 // unit)
    swizzle = memref.swizzle
    whole = swizzle is not None and unit == 8 and swizzle.granule % per_element == 0
    if whole and not (first & (per_element - 1)).any():  # the swizzle keeps every element together
        return swizzled(memref, first, unit)[..., None] + units
    return swizzled(memref, first[..., None] + units, unit)


def swizzled(memref: Memref, at: IntArray, unit: int) -> IntArray:
    """Addresses after the pointer's swizzle, which acts on bytes."""
    if memref.swizzle is None or memref.swizzle.bits == 0:
        return at
    if unit < 8:
        per_byte = 8 // unit
        return memref.swizzle(at // per_byte) * per_byte + at % per_byte
    return memref.swizzle(at)


def thread_offsets(copy: Copy, side: str, count: int | None = None) -> IntArray:
    """What each thread adds to the base, in elements: of the `count` threads (default: all of the tiling's).

    Without a tiling one thread, at 0. Threads past the tiling continue its last mode, as `get_slice` does.
    """
    memref = copy.src if side == "src" else copy.dst
    private = PRIVATE * 8 // memref.dtype.bits if memref.space == "rmem" else 0
    if copy.tiling is None:
        return np.arange(count or 1, dtype=np.int64) * private
    whole = copy.tiling.src if side == "src" else copy.tiling.dst
    if private:
        return np.arange(count or size(copy.tiling.tiled.layout_tv[0]), dtype=np.int64) * private
    threads = partition(copy.tiling.tiled, side, whole).thread
    return offsets_at(threads, np.arange(count or size(threads), dtype=np.int64))


def rest_pairs(copy: Copy) -> int:
    """How often a copy iterates: the smaller size of the two sides' rest modes."""
    return min(size(rest_modes(copy.src.layout)), size(rest_modes(copy.dst.layout)))


def _rest_offsets(layout: Layout, count: int) -> IntArray:
    return offsets(rest_modes(layout))[:count]


def _pairs(src: Layout, dst: Layout) -> tuple[IntArray, IntArray, int]:
    """Indices into V of corresponding elements, and how many elements have no partner.

    Where both V modes are ((n, m)) with different n, element (i, j) pairs with (i, j).
    """
    a, b = size(v_mode(src)), size(v_mode(dst))
    if a != b and has_inner_rest(src) and has_inner_rest(dst):
        n, m = size(v_mode(src)[0]), size(v_mode(dst)[0])
        inner = min(size(v_mode(src)[1]), size(v_mode(dst)[1]))
        i = np.arange(min(n, m), dtype=np.int64)
        j = np.arange(inner, dtype=np.int64)[:, None]
        return (i + j * n).reshape(-1), (i + j * m).reshape(-1), abs(a - b)
    both = np.arange(min(a, b), dtype=np.int64)
    return both, both, abs(a - b)


def pred_of_elements(copy: Copy) -> IntArray | None:
    """The offset of the predicate's entry that guards each element of a thread; None without a predicate."""
    if copy.pred is None:
        return None
    _, index, _ = _pairs(copy.src.layout, copy.dst.layout)
    rest = rest_pairs(copy)
    if copy.op == "basic_copy_if":
        return offsets_at(copy.pred.layout, np.arange(index.size * rest, dtype=np.int64))
    if has_inner_rest(copy.src.layout):
        index = index // size(v_mode(copy.src.layout)[0])
    return pred_offsets(copy.pred.layout, index, rest)


def pred_offsets(layout: Layout, index: IntArray, rest: int) -> IntArray:
    """A predicate's offset for indices into its mode 0 at each of `rest` iterations: [rest * index].

    A predicate too small for them is read past its end.
    """
    iterations = offsets_at(rest_modes(layout), np.arange(rest, dtype=np.int64))
    return (iterations[:, None] + offsets_at(v_mode(layout), index)).reshape(-1)


def _matrix_intent(copy: Copy, atom: LdMatrix | StMatrix, src_base: int, dst_base: int) -> Intent:
    """Element i of lane t of the destination comes from the source element that names the same bits."""
    src_bits, dst_bits = copy.src.dtype.bits, copy.dst.dtype.bits
    if any(bits != 4 and (bits % 8 or bits > 32) for bits in (src_bits, dst_bits)):
        raise InputError("matrix copies of elements that are no part of a 32-bit register are not modelled")
    unit = matrix_unit(copy)
    form = traits(atom)
    src_atom, dst_atom = atom_part(copy.src.layout), atom_part(copy.dst.layout)
    wanted = size(form.dst[1])
    given = size(dst_atom) * dst_bits
    bits = np.arange(0, min(wanted, given), unit, dtype=np.int64)
    bits = bits[: bits.size * unit // dst_bits * dst_bits // unit]
    at = offsets_of_lanes(form.dst, bits)  # [lane, unit] -> bit of the matrices
    lane, bit = where_bits(form.src)
    src_lane, src_bit = lane[at], bit[at]
    known = src_bit // src_bits < size(src_atom)
    iterations = matrix_iterations(copy)
    limit(32 * max(1, bits.size) * iterations[0].size)
    dst_elements = offsets_at(dst_atom, bits // dst_bits)
    src_elements = offsets_at(src_atom, src_bit // src_bits)
    src_lanes, dst_lanes = lane_offsets(copy, "src"), lane_offsets(copy, "dst")
    out: list[IntArray] = []
    for memref, base, per_lane, elements, within, index in (
        (
            copy.src,
            src_base,
            src_lanes[:, src_lane],
            src_elements,
            src_bit % src_bits // unit,
            iterations[0],
        ),
        (copy.dst, dst_base, dst_lanes[:, :, None], dst_elements, bits % dst_bits // unit, iterations[1]),
    ):
        # [warp, lane, unit] then [iteration, warp, lane, unit]
        local = (per_lane + elements) * (memref.dtype.bits // unit) + within
        everything = index[:, None, None, None] * (memref.dtype.bits // unit) + local + base * (8 // unit)
        out.append(swizzled(memref, everything, unit))
    source = np.where(known, out[0], NOTHING)
    each = dst_bits // unit
    shape = (iterations[0].size, -1, bits.size // each, each)  # iteration, thread, element, unit
    ordered = [a.reshape(shape).transpose(0, 2, 1, 3) for a in (source, out[1])]
    arrays: list[IntArray] = [a.reshape(-1, a.shape[2], each) for a in ordered]
    unmatched = abs(size(src_atom) * src_bits - size(form.src[1])) // src_bits
    unmatched += abs(given - wanted) // dst_bits
    return Intent(arrays[0], arrays[1], unit, None, unmatched)


def matrix_unit(copy: Copy) -> int:
    """Bits that the addresses of a matrix copy count: 4 where a side has 4-bit elements, else 8."""
    return 4 if 4 in (copy.src.dtype.bits, copy.dst.dtype.bits) else 8


def atom_part(layout: Layout) -> Layout:
    """What one instruction of a warp sees of V: V[0] where V is ((n, m)), else all of V."""
    return v_mode(layout)[0] if has_inner_rest(layout) else v_mode(layout)


def matrix_iterations(copy: Copy) -> tuple[IntArray, IntArray]:
    """The offset of each iteration (over V[1], then the rest modes) on each side, in elements."""
    counts = []
    for memref in (copy.src, copy.dst):
        inner = v_mode(memref.layout)[1] if has_inner_rest(memref.layout) else Layout.trusted(1, 0)
        rest = rest_modes(memref.layout)
        limit(size(inner) * size(rest))
        counts.append((offsets(rest)[:, None] + offsets(inner)).reshape(-1))
    n = min(counts[0].size, counts[1].size)
    return counts[0][:n], counts[1][:n]


def lane_offsets(copy: Copy, side: str, count: int | None = None) -> IntArray:
    """What each lane adds to the base, in elements: [warp, lane].

    Without a tiling one warp whose lanes' shared-memory rows lie far apart; lanes that the atom gives the
    same row (lanes 16 to 31 of an x2 form) bring the same address, as the partition of any tile makes them.
    """
    memref = copy.side(side)
    if copy.tiling is None and memref.space != "rmem":
        form = traits(copy.atom)
        rows = offsets_at((form.src if side == "src" else form.dst)[0], np.arange(32, dtype=np.int64))
        first = np.unique(rows, return_index=True, return_inverse=True)
        return (first[1][first[2]] * (_LANE * 8 // memref.dtype.bits))[None]
    threads = thread_offsets(copy, side, count or (None if copy.tiling else 32)).reshape(-1)
    if threads.size % 32:
        raise InputError(f"{threads.size} threads are no whole warps, and this atom is a warp's")
    return threads.reshape(-1, 32)


def offsets_of_lanes(tv: Layout, values: IntArray) -> IntArray:
    """A (thread, value) layout at 32 threads and the given values: [lane, value]."""
    lanes = offsets_at(tv[0], np.arange(32, dtype=np.int64))
    out: IntArray = lanes[:, None] + offsets_at(tv[1], values)
    return out


def where_bits(tv: Layout) -> tuple[IntArray, IntArray]:
    """The inverse of a (thread, value) -> bit layout: lane and value of each bit, of the lowest lane."""
    values = np.arange(size(tv[1]), dtype=np.int64)
    table = offsets_of_lanes(tv, values)
    lane = np.full(int(table.max()) + 1, 0, dtype=np.int64)
    value = np.zeros_like(lane)
    for t in range(31, -1, -1):
        lane[table[t]] = t
        value[table[t]] = values
    return lane, value


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
