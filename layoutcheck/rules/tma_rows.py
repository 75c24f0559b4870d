"""What the rules about gather4 and scatter4 ask: which index every row of an instruction should have had."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from layoutcheck.algebra.inttuple import wrap
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.tma import ROWS
from layoutcheck.atoms.tma.plan import scales, smem_side, tile_leaves, tile_of
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import offsets
from layoutcheck.errors import InputError
from layoutcheck.rules.tma import WholeTma


class Strayed(NamedTuple):
    """The first row that an instruction does not bring where the tile has it.

    `brings` and `wants` are (offset in the index tensor, column); `wants` is None where the shared tensor has
    no element.
    """

    instruction: int
    row: int
    brings: tuple[int, int]
    wants: tuple[int, int] | None


def first_strayed(analysis: Analysis, found: WholeTma) -> Strayed | None:
    """The first row whose place in shared memory is another row's, as the rows of an instruction are packed."""
    copy, made = analysis.copy, found.plan
    index = copy.index
    if index is None or made.rows is None:
        return None
    try:
        leaves, _ = tile_leaves(found.static.layout, tile_of(copy))
        at = offsets(found.smem.layout)
        column = np.zeros_like(at)
        for leaf, (dimension, step) in zip(leaves, scales(found.static, made.sides), strict=True):
            column += leaf * step if dimension == 0 else 0
        strides = wrap(index.layout.stride)
        named = sum((leaf * d for leaf, d in zip(leaves, strides, strict=True)), np.zeros_like(at))
    except InputError:
        return None
    held = {int(o): (int(i), int(c)) for o, i, c in zip(at, named, column, strict=True)}
    columns = made.written.box[0]
    bits = copy.side(smem_side(copy)).dtype.bits
    for k in range(made.boxes):
        begin = int(made.smem_at[k]) * 8 // (8 if bits == 6 else bits)
        for row in range(ROWS):
            for c in range(0, columns, max(1, columns - 1)):
                brings = (int(made.rows[k, row]), int(made.coords[k, 0]) + c)
                wants = held.get(begin + row * columns + c)
                if wants != brings:
                    return Strayed(k, row, brings, wants)
    return None


def reach(index: Memref) -> int | None:
    """One more than the last offset of an index tensor; None where that is known at run time."""
    if not index.layout.is_static:
        return None
    shape, stride = wrap(index.layout.shape), wrap(index.layout.stride)
    reached: int = sum((n - 1) * d for n, d in zip(shape, stride, strict=True) if d > 0)
    return reached + 1


def names_rows(analysis: Analysis, found: WholeTma) -> bool:
    """Whether the index tensor runs along the mode that the instruction's rows do, and along no other."""
    index = analysis.copy.index
    assert index is not None
    strides = wrap(index.layout.stride)
    rows = found.plan.sides[1].modes[0]
    return all((d != 0) == (mode == rows) for mode, d in enumerate(strides))
