"""Thread-value layouts of tcgen05.ld and st.

The tensor-memory side belongs to nobody: all threads name the same rectangle, bits along a lane first, then
the lanes. Packing 16-bit halves does not show in these layouts (measured).
"""

from __future__ import annotations

from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.tmem import TmemCopy, exists
from layoutcheck.copies.traits import WARP, AtomTraits, thread_values
from layoutcheck.errors import InputError


def tmem_traits(atom: TmemCopy) -> AtomTraits:
    """The rectangle is the reference of a TiledCopy; the fragments are those of the PTX ISA's figures.

    Raises InputError for forms that do not exist.
    """
    if not exists(atom):
        raise InputError(f"{atom} does not exist", expected="a shape and a repetition that PTX has")
    n = atom.repeat
    row = 32 * n * max(1, atom.width_bits // 32)  # bits of one lane
    lanes: Layout
    values: list[tuple[int, int]]
    if atom.lanes == 32:
        lanes, values = Layout(WARP, row), [(row, 1)]
    elif atom.width_bits == 32:
        row *= 2
        lanes, values = Layout((16, 2), (row, row // 2)), [(row // 2, 1)]
    elif atom.width_bits == 64:
        lanes, values = Layout((2, 2, 8), (8 * row, 32, row)), [(32, 1), (n, 64)]
    else:
        piece = atom.width_bits // 4
        lanes, values = Layout((4, 8), (piece, row)), [(piece, 1), (2, 8 * row), (n, atom.width_bits)]
    if n == 1 and len(values) > 1:
        values.pop()
    rectangle = Layout((WARP, row * atom.lanes), (0, 1))
    fragment = thread_values(lanes, values)
    if atom.loads:
        return AtomTraits(WARP, rectangle, fragment, rectangle)
    return AtomTraits(WARP, fragment, rectangle, rectangle)
