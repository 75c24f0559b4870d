"""Thread-value layouts of tcgen05.cp: all threads name the same rows, and the same rectangle."""

from __future__ import annotations

import math

from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.s2t import FORMS, S2TCopy
from layoutcheck.copies.traits import AtomTraits, thread_values
from layoutcheck.errors import InputError

# (extent, stride) in bits of the shared-memory side of each form, as the DSL numbers them. 4x256b is
# numbered in the 128 lanes x 256 bits that it refreshes, partitioned right of 32-bit elements only.
_SOURCE: dict[tuple[int, int, str], list[tuple[int, int]]] = {
    (128, 256, ""): [(32768, 1)],
    (128, 128, ""): [(16384, 1)],
    (4, 256, ""): [(4, 32), (256, 128)],
    (32, 128, "x4"): [(32, 1), (128, 32), (4, 0)],
    (64, 128, "lw_0213"): [(64, 1), (128, 64), (2, 0)],
    (64, 128, "lw_0123"): [(32, 1), (128, 32), (2, 4096), (2, 0)],
}


def s2t_traits(atom: S2TCopy) -> AtomTraits:
    """Raises InputError for forms that do not exist."""
    if (atom.lanes, atom.width_bits, atom.broadcast) not in FORMS or atom.ctas not in (1, 2):
        raise InputError(f"{atom} does not exist", expected="a form of tcgen05.cp")
    threads = Layout(atom.ctas, 0)
    source = _SOURCE[atom.lanes, atom.width_bits, atom.broadcast]
    src = thread_values(threads, source)
    written = math.prod(extent for extent, _ in source)
    dst = src if atom.lanes == 4 else thread_values(threads, [(written, 1)])
    return AtomTraits(atom.ctas, src, dst, dst)
