"""`copy-elements`: one element at a time by the same threads, with ordinary loads and stores.

Only the atom changes. An ordinary copy has no least width, as `cp.async` has (4 bytes: PTX ISA), and asks for
no more than an element's alignment. So it transposes, at the price of an instruction for each element.
"""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.tiled import partition
from layoutcheck.copies.tiling import like
from layoutcheck.fixes.draft import Analysis, Drafts, fragment
from layoutcheck.fixes.edit import OTHER, edited, partitioned

STRATEGY = "copy-elements"


def propose(analysis: Analysis) -> Drafts:
    """The universal atom of one element, where there is no narrower one; a tile's threads and values stay."""
    copy, atom = analysis.copy, analysis.copy.atom
    bits = copy.src.dtype.bits
    if not isinstance(atom, ThreadAtom) or bits < 8 or bits >= atom.width_bits:
        return
    if copy.tiling is None and bits >= atom.least_bits:  # then it is `narrow-copy`
        return
    asynchronous = atom.least_bits > bits
    atom = UniversalCopy(copy.src.dtype, bits)
    made = replace(copy, atom=atom)
    if copy.tiling is not None:
        if copy.pred is not None:  # made for the vectors that it has
            return
        tiled = replace(copy.tiling.tiled, atom=atom)
        made = replace(made, tiled=tiled, tiling=replace(copy.tiling, tiled=tiled))
        memory = [side for side in ("src", "dst") if copy.side(side).space != "rmem"]
        for side in memory:
            if partitioned(copy, side) is None:
                return
            view = like(copy.side(side), partition(tiled, side, copy.tiling.side(side)))
            made = made.with_side(side, view)
        if len(memory) == 1:
            made = made.with_side(OTHER[memory[0]], fragment(made.side(memory[0])))
    title = f"copy by elements{', synchronously' * asynchronous}"
    yield edited(STRATEGY, title, copy, made)
