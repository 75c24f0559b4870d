"""Copies whose execution is their intent by the layouts alone: no address has to be looked at.

Where each vector of the layouts is one instruction of the atom, both meanings are one list of moves: vector j
goes from offset j of the source to offset j of the destination. Two questions are left: whether every vector
begins where the instruction may, and whether two vectors share bytes of the destination.
"""

from __future__ import annotations

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.analysis.period import injective
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import MAX_MOVES, size

_FAMILIES = ("universal", "cp_async")
_SPACES = ("gmem", "smem", "rmem")
_WIDTHS = (32, 64, 128)  # bits that one instruction moves (PTX ISA: cp.async; ld and st up to .v4.b32)


def agrees(copy: Copy) -> bool:
    """Whether an accepted copy does what its layouts say, at every base that its types allow.

    False where only a run can tell. Told of a thread's static views of one shape, each V one vector of the
    atom's width, without predicate, pointer swizzle or recast.
    """
    src, dst, atom = copy.src, copy.dst, copy.atom
    if atom is None or atom.family not in _FAMILIES or src.shape != dst.shape or src.dtype != dst.dtype:
        return False
    if copy.tiling or copy.tiled or copy.pred or copy.issue or copy.op != "copy":
        return False
    width, bits = getattr(atom, "width_bits", 0), src.dtype.bits
    if width not in _WIDTHS or bits % 8 or width % bits:
        return False
    count = width // bits
    if not _in_vectors(src, count) or not _in_vectors(dst, count):
        return False
    if size(dst.layout) * dst.element_bytes > MAX_MOVES:
        return False
    return injective(dst.layout)


def _in_vectors(memref: Memref, count: int) -> bool:
    """Whether V is `count` adjacent elements, and each V begins at a multiple of their bytes."""
    layout: Layout = memref.layout
    if type(memref) is not Memref or memref.space not in _SPACES or memref.swizzle or memref.recast_from:
        return False
    shape, stride = layout.shape, layout.stride
    if type(shape) is not tuple:
        shape, stride = (shape,), (stride,)
    if shape[0] not in (count, (count, 1)) or (count > 1 and flatten(stride[0])[0] != 1):
        return False
    registers = memref.space == "rmem"  # which have no addresses
    if not registers and memref.proved_align_bytes % (count * memref.element_bytes):
        return False
    step = 1 if registers else count
    return all(
        type(extent) is int and type(d) is int and d >= 0 and not (extent != 1 and d % step)
        for extent, d in zip(flatten(shape[1:]), flatten(stride[1:]), strict=True)
    )
