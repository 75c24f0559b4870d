"""Which bits each lane of an atom touches: the (thread, value) -> bit layouts that CuTe calls Copy_Traits.

Both sides number the same data, so that (thread t, bit v) of the source and (thread t', bit v') of the
destination are one bit where the layouts give the same index. A single-thread atom maps value v to bit v
on both sides. For ldmatrix and stmatrix one side is shared memory, where lane t supplies the address of
one 128-bit row, and the other side the register fragment of each lane:

    ldmatrix x4      src (32,128):(128,1)                lane t brings row t
                     dst (32,(32,4)):(32,(1,1024))       lane t gets 32 bits of each of 4 matrices

Where fewer than 32 rows exist (x1, x2) the remaining lanes' row addresses are ignored by the instruction
(PTX ISA, ldmatrix) and their thread mode has stride 0. Derived from the fragment figures of the PTX ISA
(ldmatrix, stmatrix: .m8n8.b16, .m16n8.b8, .m16n16.b8) and identical to what DSL 4.8.1 prints for
`layout_src_tv` and `layout_dst_tv` of an atom (tests/conformance/test_partition.py).

The tensor-memory side of tcgen05.ld, st and cp belongs to nobody: all threads name the same rectangle, bits
along a lane first, then the lanes. Packing 16-bit halves does not show in these layouts (DSL 4.8.1).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from layoutcheck.algebra.integers import ceil_div
from layoutcheck.algebra.layout import Layout
from layoutcheck.errors import InputError
from layoutcheck.machine.atoms import (
    Atom,
    BulkCopy,
    CpAsync,
    DsmemStore,
    LdMatrix,
    OtherAtom,
    RegisterCopy,
    S2TCopy,
    StMatrix,
    TmaCopy,
    TmemLoad,
    TmemStore,
    UniversalCopy,
    s2t,
    tmem,
)

WARP = 32
_ROW = 128  # bits behind one row address
_MATRIX = 8 * _ROW  # bits of one 8x8 b16 (or 16x8 b8) matrix

# What the DSL's type checks allow: (mode, pattern, transposed) -> matrix counts (measured, 4.8.1).
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


class AtomTraits(NamedTuple):
    """`threads` that execute the atom together, and (thread, value) -> bit on each side.

    `ref` is the side whose (thread, value) a TiledCopy's layout_tv speaks of: for matrices the fragment.
    """

    threads: int
    src: Layout
    dst: Layout
    ref: Layout

    def elements(self, bits: int) -> AtomTraits:
        """The same with values of `bits` bits: (thread, value) -> element."""
        src, dst = _upcast(self.src, bits), _upcast(self.dst, bits)
        return AtomTraits(self.threads, src, dst, dst if self.ref == self.dst else src)


@lru_cache(maxsize=1024)
def traits(atom: Atom) -> AtomTraits:
    """The bit layouts of `atom`. A copy of width 0 (auto) has no width: one value, 1:0.

    Raises InputError for ldmatrix and stmatrix forms that do not exist and for atoms that are not modelled.
    """
    if isinstance(atom, (UniversalCopy, CpAsync, RegisterCopy, BulkCopy, DsmemStore)):
        width = atom.width_bits
        line = Layout((1, width), (0, 1)) if width > 0 else Layout((1, 1), (0, 0))
        return AtomTraits(1, line, line, line)
    if isinstance(atom, OtherAtom):
        raise InputError(f"the thread-value layouts of '{atom.name[:60]}' are not modelled")
    if isinstance(atom, TmaCopy):
        raise InputError("a TMA copy has a box, not thread-value layouts")
    if isinstance(atom, (TmemLoad, TmemStore)):
        return _tmem(atom)
    if isinstance(atom, S2TCopy):
        return _s2t(atom)
    count = atom.num_matrices
    if isinstance(atom, LdMatrix):
        forms = LDMATRIX_FORMS.get((atom.mode, atom.pattern, atom.transpose), ())
    else:
        forms = STMATRIX_FORMS.get((atom.mode, atom.transpose), ())
    if count not in forms:
        raise InputError(f"{atom} does not exist", expected=_known_forms(atom))
    fragment = _fragment(atom.mode, atom.transpose, count)
    if isinstance(atom, StMatrix):
        return AtomTraits(WARP, fragment, _rows(8 * count), fragment)
    if atom.mode == (16, 8):
        return AtomTraits(WARP, _paired_rows(count), fragment, fragment)
    return AtomTraits(WARP, _rows(16 * count if atom.mode == (16, 16) else 8 * count), fragment, fragment)


def _tmem(atom: TmemLoad | TmemStore) -> AtomTraits:
    """The rectangle is the reference of a TiledCopy; the fragments are those of the PTX ISA's figures."""
    if not tmem.exists(atom):
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
    fragment = _thread_values(lanes, values)
    if isinstance(atom, TmemLoad):
        return AtomTraits(WARP, rectangle, fragment, rectangle)
    return AtomTraits(WARP, fragment, rectangle, rectangle)


# (extent, stride) in bits of the shared-memory side of each form, as DSL 4.8.1 numbers them. 4x256b is
# numbered in the 128 lanes x 256 bits that it refreshes, partitioned right of 32-bit elements only.
_S2T_SOURCE: dict[tuple[int, int, str], list[tuple[int, int]]] = {
    (128, 256, ""): [(32768, 1)],
    (128, 128, ""): [(16384, 1)],
    (4, 256, ""): [(4, 32), (256, 128)],
    (32, 128, "x4"): [(32, 1), (128, 32), (4, 0)],
    (64, 128, "lw_0213"): [(64, 1), (128, 64), (2, 0)],
    (64, 128, "lw_0123"): [(32, 1), (128, 32), (2, 4096), (2, 0)],
}


def _s2t(atom: S2TCopy) -> AtomTraits:
    if (atom.lanes, atom.width_bits, atom.broadcast) not in s2t.FORMS or atom.ctas not in (1, 2):
        raise InputError(f"{atom} does not exist", expected="a form of tcgen05.cp")
    threads = Layout(atom.ctas, 0)
    source = _S2T_SOURCE[atom.lanes, atom.width_bits, atom.broadcast]
    src = _thread_values(threads, source)
    written = 1
    for extent, _ in source:
        written *= extent
    dst = src if atom.lanes == 4 else _thread_values(threads, [(written, 1)])
    return AtomTraits(atom.ctas, src, dst, dst)


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
    return _thread_values(lanes, values)


def _thread_values(lanes: Layout, values: list[tuple[int, int]]) -> Layout:
    if len(values) == 1:
        return Layout((lanes.shape, values[0][0]), (lanes.stride, values[0][1]))
    return Layout((lanes.shape, tuple(n for n, _ in values)), (lanes.stride, tuple(d for _, d in values)))


def _upcast(layout: Layout, n: int) -> Layout:
    """Layout of units n times as large, leaf by leaf, as CuTe's `upcast` of a static layout."""

    def leaf(shape: Any, stride: Any) -> tuple[Any, Any]:
        if type(shape) is tuple:
            pairs = [leaf(s, d) for s, d in zip(shape, stride, strict=True)]
            return tuple(s for s, _ in pairs), tuple(d for _, d in pairs)
        if stride == 0:
            return shape, stride
        return ceil_div(shape, ceil_div(n, stride)), ceil_div(stride, n)

    return Layout(*leaf(layout.shape, layout.stride))


def _known_forms(atom: LdMatrix | StMatrix) -> str:
    if isinstance(atom, StMatrix):
        return "8x8 b16 (either way) or 16x8 b8 transposed, with 1, 2 or 4 matrices"
    return "8x8 u16 x1/x2/x4, 16x8 transposed x2/x4, 16x16 transposed x1/x2 or 8x16 x1/x2/x4"
