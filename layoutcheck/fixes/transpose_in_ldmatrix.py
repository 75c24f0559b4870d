"""`transpose-in-ldmatrix`: keep the global order in shared memory, transpose where the MMA operand is read.

`ldmatrix.trans` hands every thread the transposed 8x8 tiles for free, so the copy to shared memory stays one
16-byte `cp.async` a vector. 16-bit elements only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra.layout import Layout
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.matrix import LdMatrix
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code, match_layout
from layoutcheck.fixes.draft import Draft

STRATEGY = "transpose-in-ldmatrix"


def propose(analysis: Analysis) -> Iterator[Draft]:
    """`match-layout` for the copy, then `ldmatrix.x4.trans` for the reader of the tile."""
    copy = analysis.copy
    if copy.src.space != "gmem" or copy.dst.space != "smem" or copy.src.dtype.bits != 16:
        return
    atom = LdMatrix(copy.src.dtype, 4, transpose=True)
    row = Layout(((8, 1), 1), ((1, 0), 0))
    for matched in match_layout.propose(analysis):
        [load] = matched.copies
        smem = load.tiling.dst if load.tiling is not None else load.dst
        read = Copy(
            atom,
            replace(smem, layout=row, align_bytes=16),
            Memref(smem.dtype, "rmem", row, 32),
            arch=copy.arch,
        )
        yield Draft(
            STRATEGY,
            "keep the source's order in shared memory and read the MMA operand with ldmatrix.trans",
            f"{matched.code}\n# where the tile is read for the MMA:\nldmatrix_atom = {code.atom_code(atom)}",
            (load, read),
            "for tiles that feed a tensor-core MMA",
        )
