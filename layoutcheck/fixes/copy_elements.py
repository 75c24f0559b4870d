"""`copy-elements`: one element at a time by the same threads, with ordinary loads and stores.

Only the atom changes. An ordinary copy has no least width, as `cp.async` has (4 bytes: PTX ISA), and asks for no
more than an element's alignment. So it transposes, at the price of an instruction an element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.analysis import Analysis
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.tiled import partition
from layoutcheck.copies.tiling import like
from layoutcheck.fixes.draft import Draft
from layoutcheck.fixes.edit import edited, partitioned

STRATEGY = "copy-elements"


def propose(analysis: Analysis) -> Iterator[Draft]:
    """The universal atom of one element, where `cp.async` has no such width; a tile's threads and values stay."""
    copy = analysis.copy
    bits = copy.src.dtype.bits
    if not isinstance(copy.atom, CpAsync) or not 8 <= bits < copy.atom.least_bits:
        return
    atom = UniversalCopy(copy.src.dtype, bits)
    made = replace(copy, atom=atom)
    if copy.tiling is not None:
        if copy.pred is not None:  # made for the vectors that it has
            return
        tiled = replace(copy.tiling.tiled, atom=atom)
        made = replace(made, tiled=tiled, tiling=replace(copy.tiling, tiled=tiled))
        for side in ("src", "dst"):
            if partitioned(copy, side) is None:
                return
            view = like(copy.side(side), partition(tiled, side, copy.tiling.side(side)))
            made = made.with_side(side, view)
    yield edited(
        STRATEGY,
        f"copy one element ({bits} bits) at a time",
        copy,
        made,
        "synchronous: no cp.async group waits for it",
    )
