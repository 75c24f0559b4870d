"""`transpose-in-ldmatrix`: keep the global order in shared memory, transpose where the MMA operand is read.

`ldmatrix.trans` hands every thread the transposed 8x8 tiles for free, so the copy to shared memory stays one
16-byte `cp.async` a vector. 16-bit elements only.
"""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.algebra.inttuple import product
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.matrix import LdMatrix
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.vectors import contiguous_mode
from layoutcheck.fixes import code, match_layout
from layoutcheck.fixes.draft import Analysis, Draft, Drafts

STRATEGY = "transpose-in-ldmatrix"
_ROWS = 8  # of a matrix, of as many 16-bit elements
_ALONG, _ACROSS = 8, 16  # rows of matrices that are looked at: 128 bytes, and two matrices down


def propose(analysis: Analysis) -> Drafts:
    """`match-layout` for the copy where that turns the tile, then `ldmatrix.trans` for the tile's reader."""
    copy = analysis.copy
    if copy.src.space != "gmem" or copy.dst.space != "smem" or copy.src.dtype.bits != 16:
        return
    for matched in match_layout.propose(analysis):
        [load] = matched.copies
        smem = load.whole("dst")
        read = _reader(smem, copy.arch) if match_layout.turns(analysis.copy.whole("dst"), smem) else None
        if read is None or read.atom is None:
            continue
        yield Draft(
            STRATEGY,
            "keep the source's order in shared memory and read the MMA operand with ldmatrix.trans",
            f"{matched.code}\n# where the tile is read for the MMA:\n"
            f"ldmatrix_atom = {code.atom_code(read.atom)}",
            (load, read),
            "for tiles that feed a tensor-core MMA",
            readers=1,
        )


def _reader(smem: Memref, arch: str) -> Copy | None:
    """Every row of 8 elements of the tile by the widest `ldmatrix.trans`; None where it is no matrices of 8 x 8.

    A thread names any of those rows. Base, pitch and swizzle decide for all of them what they do for the first
    `_ALONG` along a row of the tile and the first `_ACROSS` rows.
    """
    fast = contiguous_mode(smem.layout)
    if fast is None or len(smem.layout) != 2 or not smem.layout.is_static:
        return None
    along, across = smem.layout[fast], smem.layout[1 - fast]
    length, height = product(along.shape), product(across.shape)
    if type(along.shape) is tuple or not isinstance(length, int) or not isinstance(height, int):
        return None
    if length % _ROWS or height % _ROWS:
        return None
    rows, matrices = length // _ROWS, length * height // _ROWS**2
    count = next(n for n in (4, 2, 1) if matrices % n == 0)
    rows = min(rows, _ALONG)
    if type(across.shape) is not tuple:
        across = Layout(min(height, _ACROSS), across.stride)
    view = Layout(((_ROWS, 1), rows, across.shape), ((1, 0), _ROWS, across.stride))
    values = 2 * count
    held = Layout(((values, 1), rows, across.shape), ((1, 0), values, _compact(across, values * rows)))
    return Copy(
        LdMatrix(smem.dtype, count, transpose=True),
        replace(smem, layout=view),
        Memref(smem.dtype, "rmem", held, 32),
        arch=arch,
    )


def _compact(mode: Layout, first: int) -> object:
    """Strides of a mode's shape, one after the other from `first` on."""
    if type(mode.shape) is not tuple:
        return first
    strides = []
    for part in mode.modes:
        strides.append(_compact(part, first))
        size = product(part.shape)
        assert isinstance(size, int)  # of a static layout
        first *= size
    return tuple(strides)
