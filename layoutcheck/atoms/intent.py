"""Intent: what the layouts of a copy say, as byte addresses.

Element i of the source view goes to element i of the destination view. For the atoms of a warp (ldmatrix,
stmatrix) "element i" is a coordinate of the matrices: the source element that one lane brings and the
destination element that another lane gets are the same where the atom's thread-value layouts name the same
bit. With a tiling whose sides both lie in shared memory of the block (not registers), the intent is of the
whole tiles, whoever moves what.

See moves.py for how the two sides are written down.
"""

from __future__ import annotations

from layoutcheck.atoms.family import family_of
from layoutcheck.copies.addresses import places, recast_offsets, swizzled, thread_offsets, unit_bits
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import Intent, Places
from layoutcheck.copies.offsets import limit, offsets, offsets_at, rest_modes, size, v_mode
from layoutcheck.copies.plan import element_pairs, pred_of_elements, rest_pairs
from layoutcheck.copies.tiled import SIDES


def intent(copy: Copy, src_base: int, dst_base: int) -> Intent:
    """The intent of a static copy whose tensors (whole tiles, with a tiling) lie at the given addresses.

    Raises TooLarge for copies of too many bytes, InputError for dynamic layouts and for elements of
    different width on the two sides.
    """
    tiling = copy.tiling
    own = family_of(copy).intent
    if own is None and tiling and "rmem" not in (tiling.src.space, tiling.dst.space):
        unit = unit_bits(copy)
        n = min(size(tiling.src.layout), size(tiling.dst.layout))
        sides = []
        for memref, base in ((tiling.src, src_base), (tiling.dst, dst_base)):
            sides.append(places(memref, base, offsets(memref.layout)[:n, None], unit))
        unmatched = abs(size(tiling.src.layout) - size(tiling.dst.layout))
        return Intent(sides[0], sides[1], unit, None, unmatched, whole=True)
    return thread_intent(copy, src_base, dst_base)


def thread_intent(copy: Copy, src_base: int, dst_base: int) -> Intent:
    """The intent thread by thread, also of a tiling whose intent is that of the whole tiles.

    Element i of thread t is element i of its views. Raises what `intent` raises.
    """
    own = family_of(copy).intent
    if own is not None:
        return own(copy, copy.needed_atom, src_base, dst_base)
    return _element_intent(copy, src_base, dst_base)


def _element_intent(copy: Copy, src_base: int, dst_base: int) -> Intent:
    """Of an atom of one thread, or of none: element i of V and of the rest modes on both sides."""
    unit = unit_bits(copy)
    threads = [thread_offsets(copy, side) for side in SIDES]
    count = max(each.size for each in threads)  # lanes of a warp's atom may share a place
    if any(each.size != count for each in threads):
        threads = [thread_offsets(copy, side, count) for side in SIDES]
    elements = min(size(copy.src.layout), size(copy.dst.layout))
    limit(elements * threads[0].size * max(1, copy.src.dtype.bits // 8))
    src_index, dst_index, unmatched = element_pairs(copy.src.layout, copy.dst.layout)
    rest = rest_pairs(copy)
    sides = []
    for memref, base, index, thread in (
        (copy.src, src_base, src_index, threads[0]),
        (copy.dst, dst_base, dst_index, threads[1]),
    ):
        original = recast_offsets(memref) if copy.tiling is None else None
        if original is not None and memref.recast_from is not None and unit == 8:
            units = swizzled(memref.recast_from, original[: index.size * rest, None, :] + base, unit)
            sides.append(Places.of(units))
            continue
        v = offsets_at(v_mode(memref.layout), index)
        r = offsets(rest_modes(memref.layout))[:rest]
        local = (r[:, None] + v).reshape(-1)
        sides.append(places(memref, base, local[:, None] + thread, unit))
    return Intent(sides[0], sides[1], unit, pred_of_elements(copy), unmatched)
