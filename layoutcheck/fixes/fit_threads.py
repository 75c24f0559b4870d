"""`fit-threads`: thread and value layouts that cover the tile exactly once, a whole vector for each thread."""

from __future__ import annotations

from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.vectors import contiguous_mode
from layoutcheck.fixes.draft import Analysis, Drafts
from layoutcheck.fixes.edit import block_of, edited, rewoven, vector_of

STRATEGY = "fit-threads"


def propose(analysis: Analysis) -> Drafts:
    """The same atom and tensors, with values along the contiguous mode; the block's threads, or fewer."""
    copy, tiling = analysis.copy, analysis.copy.tiling
    if tiling is None or not isinstance(copy.atom, ThreadAtom):
        return
    block = threads = block_of(tiling)
    while threads >= 1:
        made = rewoven(copy, copy.atom, threads=None if threads == block else threads)
        if made is not None:
            values = vector_of(copy.atom, copy.src)
            guard = "" if threads == block else f" (guard: if tidx < {threads})"
            title = (
                f"{threads} threads, {values} value{'s' if values > 1 else ''} each "
                f"along mode {contiguous_mode(tiling.src.layout)}{guard}"
            )
            yield edited(STRATEGY, title, copy, made)
            return
        threads //= 2
