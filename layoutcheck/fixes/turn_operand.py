"""`transpose`: an `ldmatrix` or `stmatrix` the other way, where the tile's other mode is the contiguous one."""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.copies.tiled import partition
from layoutcheck.copies.tiling import like
from layoutcheck.fixes.draft import Analysis, Drafts
from layoutcheck.fixes.edit import edited, partitioned

STRATEGY = "transpose"


def propose(analysis: Analysis) -> Drafts:
    """The same tiled copy of the atom with its `transpose` turned; a thread's registers stay."""
    copy, atom, tiling = analysis.copy, analysis.copy.atom, analysis.copy.tiling
    if not isinstance(atom, (LdMatrix, StMatrix)) or atom.mode != (8, 8) or tiling is None:
        return
    turned = replace(atom, transpose=not atom.transpose)
    tiled = replace(tiling.tiled, atom=turned)
    side = atom.memory_side
    if partitioned(copy, side) != copy.side(side):
        return
    view = like(copy.side(side), partition(tiled, side, tiling.side(side)))
    made = replace(copy, atom=turned, tiled=tiled, tiling=replace(tiling, tiled=tiled)).with_side(side, view)
    yield edited(
        STRATEGY,
        f"transpose={turned.transpose}: the rows of the matrices run along the tile's contiguous mode",
        copy,
        made,
        "partition the tile and retile the fragment by the new tiled copy",
    )
