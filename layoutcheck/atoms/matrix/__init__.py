"""`ldmatrix` and `stmatrix`: a warp moves small matrices between shared memory and register fragments.

PTX ISA, ldmatrix / stmatrix: each lane supplies the address of one 16-byte row; lanes 0-7 the rows of
matrix 0, lanes 8-15 of matrix 1, and so on. ldmatrix needs sm_75, stmatrix sm_90.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.atom import WARP, AtomTraits, WarpAtom, thread_values
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import BLACKWELL_FORMS, Arch, Needs
from layoutcheck.machine.dtypes import DType


@dataclass(frozen=True, slots=True)
class MatrixAtom(WarpAtom):
    """What `LdMatrix` and `StMatrix` share: `mode` is the matrix shape."""

    family: ClassVar[str] = "matrix"
    memory: ClassVar[str] = "smem"
    drops_composed: ClassVar[bool] = True  # measured on the DSL
    instruction_bits: ClassVar[int] = 128  # one row of an 8x8 b16 matrix is 16 bytes (PTX ISA, ldmatrix)
    name: ClassVar[str]

    dtype: DType
    num_matrices: int
    transpose: bool = False
    mode: tuple[int, int] = (8, 8)

    @property
    def run_sides(self) -> tuple[str, ...]:
        """Memory; registers have an order of their own."""
        return (self.memory_side,)

    @property
    def phrase(self) -> str:
        """`ldmatrix.m8n8.x4.trans (bf16)`."""
        rows, columns = self.mode
        trans = ".trans" if self.transpose else ""
        return f"{self.name}.m{rows}n{columns}.x{self.num_matrices}{trans} ({self.dtype})"

    @property
    def constructor(self) -> str:
        """The DSL's operation."""
        rows, columns = self.mode
        name = "LdMatrix" if self.loads else "StMatrix"
        bits = 16 if self.mode == (8, 8) else 8
        return f"cute.nvgpu.warp.{name}{rows}x{columns}x{bits}bOp({self.transpose}, {self.num_matrices})"

    def traits(self) -> AtomTraits:
        """Rows on one side, the fragment of registers on the other (the PTX ISA's figures of both).

        Where fewer than 32 rows exist (x1, x2) the instruction ignores the other lanes' row addresses (PTX
        ISA, ldmatrix), and their thread mode has stride 0. Raises InputError for forms that do not exist.
        """
        count = self.num_matrices
        if count not in counts(self):
            raise InputError(f"{self} does not exist", expected=_LOADS if self.loads else _STORES)
        fragment = _fragment(self.mode, self.transpose, count)
        if not self.loads:
            return AtomTraits(WARP, fragment, _rows(8 * count), fragment)
        if self.mode == (16, 8):
            return AtomTraits(WARP, _paired_rows(count), fragment, fragment)
        return AtomTraits(WARP, _rows(16 * count if self.mode == (16, 16) else 8 * count), fragment, fragment)


@dataclass(frozen=True, slots=True)
class LdMatrix(MatrixAtom):
    """`mode` is the matrix shape, `pattern` the element pattern as printed (u16, u8, u4x16p64to8, ...)."""

    loads: ClassVar[bool] = True
    name: ClassVar[str] = "ldmatrix"

    pattern: str = "u16"

    def __str__(self) -> str:
        rows, columns = self.mode
        return (
            f'!cute_nvgpu.atom.ldsm<val_type = {self.dtype}, mode = <"({rows},{columns})">, '
            f"sz_pattern = {self.pattern}, num_matrices = {self.num_matrices}, "
            f"{'t' if self.transpose else 'n'}>"
        )

    @property
    def needs(self) -> Needs:
        """PTX ISA, ldmatrix: sm_75; .m16n16 and .m8n16 (8-, 6- and 4-bit elements): sm_100a."""
        return Needs(Arch(75)) if self.mode == (8, 8) else BLACKWELL_FORMS


@dataclass(frozen=True, slots=True)
class StMatrix(MatrixAtom):
    """The store counterpart of `LdMatrix`; `mode` is (8,8) for b16 and (16,8) for b8."""

    loads: ClassVar[bool] = False
    name: ClassVar[str] = "stmatrix"

    def __str__(self) -> str:
        rows, columns = self.mode
        return (
            f'!cute_nvgpu.atom.stsm<{self.dtype}, mode = <"({rows},{columns})">, '
            f"num_matrices = {self.num_matrices}, {'t' if self.transpose else 'n'}>"
        )

    @property
    def needs(self) -> Needs:
        """PTX ISA, stmatrix: sm_90; .m16n8.b8: sm_100a."""
        return Needs(Arch(90)) if self.mode == (8, 8) else BLACKWELL_FORMS


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


def counts(atom: MatrixAtom) -> Sequence[int]:
    """The numbers of matrices that the atom's shape and pattern exist with."""
    if isinstance(atom, LdMatrix):
        return LDMATRIX_FORMS.get((atom.mode, atom.pattern, atom.transpose), ())
    return STMATRIX_FORMS.get((atom.mode, atom.transpose), ())


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
