"""Thread-value layouts of ldmatrix and stmatrix.

Where fewer than 32 rows exist (x1, x2) the remaining lanes' row addresses are ignored by the instruction
(PTX ISA, ldmatrix) and their thread mode has stride 0. Derived from the fragment figures of the PTX ISA
(ldmatrix, stmatrix: .m8n8.b16, .m16n8.b8, .m16n16.b8).
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.copies.traits import WARP, AtomTraits, thread_values
from layoutcheck.errors import InputError

_ROW = 128  # bits behind one row address
_MATRIX = 8 * _ROW  # bits of one 8x8 b16 (or 16x8 b8) matrix

# What the DSL's type checks allow: (mode, pattern, transposed) -> matrix counts (measured).
_UNPACKING = ("u4to8", "s4to8", "u4x16p64to8", "u6x16p32to8")
LDMATRIX_FORMS: dict[tuple[tuple[int, int], str, bool], tuple[int, ...]] = {
    ((8, 8), "u16", False): (1, 2, 4),
    ((8, 8), "u16", True): (1, 2, 4),
    **{((16, 8), pattern, True): (2, 4) for pattern in ("u8", "u4x16p64to8", "u6x16p32to8")},
    **{((16, 16), pattern, True): (1, 2) for pattern in ("u8", "u4x16p64to8", "u6x16p32to8")},
    **{((8, 16), pattern, False): (1, 2, 4) for pattern in _UNPACKING},
}
STMATRIX_FORMS: dict[tuple[tuple[int, int], bool], tuple[int, ...]] = {
    ((8, 8), False): (1, 2, 4),
    ((8, 8), True): (1, 2, 4),
    ((16, 8), True): (1, 2, 4),
}
_LOADS = "8x8 u16 x1/x2/x4, 16x8 transposed x2/x4, 16x16 transposed x1/x2 or 8x16 x1/x2/x4"
_STORES = "8x8 b16 (either way) or 16x8 b8 transposed, with 1, 2 or 4 matrices"


def counts(atom: LdMatrix | StMatrix) -> Sequence[int]:
    """The numbers of matrices that the atom's shape and pattern exist with."""
    if isinstance(atom, LdMatrix):
        return LDMATRIX_FORMS.get((atom.mode, atom.pattern, atom.transpose), ())
    return STMATRIX_FORMS.get((atom.mode, atom.transpose), ())


def ldmatrix_traits(atom: LdMatrix) -> AtomTraits:
    """Raises InputError for forms that do not exist."""
    count = _checked(atom, _LOADS)
    fragment = _fragment(atom.mode, atom.transpose, count)
    if atom.mode == (16, 8):
        return AtomTraits(WARP, _paired_rows(count), fragment, fragment)
    return AtomTraits(WARP, _rows(16 * count if atom.mode == (16, 16) else 8 * count), fragment, fragment)


def stmatrix_traits(atom: StMatrix) -> AtomTraits:
    """Raises InputError for forms that do not exist."""
    count = _checked(atom, _STORES)
    fragment = _fragment(atom.mode, atom.transpose, count)
    return AtomTraits(WARP, fragment, _rows(8 * count), fragment)


def _checked(atom: LdMatrix | StMatrix, known: str) -> int:
    if atom.num_matrices not in counts(atom):
        raise InputError(f"{atom} does not exist", expected=known)
    return atom.num_matrices


def _rows(addresses: int) -> Layout:
    """Lane t supplies row t; lanes past the last row repeat."""
    if addresses == WARP:
        return Layout((WARP, _ROW), (_ROW, 1))
    return Layout(((addresses, WARP // addresses), _ROW), ((_ROW, 0), 1))


def _paired_rows(count: int) -> Layout:
    """ldmatrix m16n8 as the DSL builds it from m16n16: lanes alternate between pairs of matrices."""
    return Layout(((2, 2, 4, 2), _ROW), ((_ROW, _MATRIX, 2 * _ROW, 2 * _MATRIX if count == 4 else 0), 1))


def _fragment(mode: tuple[int, int], transpose: bool, count: int) -> Layout:
    """The registers: lane t, bit v."""
    lanes: Layout
    values: list[tuple[int, int]]  # (extent, stride) of the bits of one matrix
    if not transpose:  # 32 adjacent bits
        lanes, values, matrix = Layout(WARP, 32), [(32, 1)], _MATRIX
    elif mode == (8, 8):  # two b16 of one column, from rows 2i and 2i+1
        lanes, values, matrix = Layout((4, 8), (2 * _ROW, 16)), [(16, 1), (2, _ROW)], _MATRIX
    elif mode == (16, 8):  # four b8: two rows of two columns, 8 apart
        lanes, values, matrix = Layout((4, 8), (2 * _ROW, 8)), [(8, 1), (2, _ROW), (2, 64)], _MATRIX
    else:  # (16, 16), eight b8: four rows of two columns, 8 apart
        lanes, values, matrix = Layout((4, 8), (4 * _ROW, 8)), [(8, 1), (4, _ROW), (2, 64)], 2 * _MATRIX
    if count > 1:
        values = [*values, (count, matrix)]
    return thread_values(lanes, values)
