"""`widen-copy`: fewer, wider instructions where both sides bear them."""

from __future__ import annotations

from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.vectors import WIDEST_BITS
from layoutcheck.fixes.draft import Analysis, Drafts
from layoutcheck.fixes.edit import of_width

STRATEGY = "widen-copy"


def propose(analysis: Analysis) -> Drafts:
    """The same atom, widest first; whole tiles are split anew, a whole vector a thread."""
    copy, atom = analysis.copy, analysis.copy.atom
    if not isinstance(atom, ThreadAtom) or not atom.width_bits:
        return
    width = WIDEST_BITS
    while width > atom.width_bits:
        yield from of_width(STRATEGY, copy, atom.with_width(width))
        width //= 2
