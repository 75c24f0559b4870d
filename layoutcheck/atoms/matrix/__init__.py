"""`ldmatrix` and `stmatrix`: a warp moves small matrices between shared memory and register fragments.

PTX ISA, ldmatrix / stmatrix: each lane supplies the address of one 16-byte row; lanes 0-7 the rows of
matrix 0, lanes 8-15 of matrix 1, and so on. ldmatrix needs sm_75, stmatrix sm_90.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutcheck.copies.atom import WarpAtom
from layoutcheck.copies.traits import AtomTraits
from layoutcheck.machine.arch import BLACKWELL_FORMS, Arch, Needs
from layoutcheck.machine.dtypes import DType


@dataclass(frozen=True, slots=True)
class MatrixAtom(WarpAtom):
    """What `LdMatrix` and `StMatrix` share: `mode` is the matrix shape."""

    family: ClassVar[str] = "matrix"
    memory: ClassVar[str] = "smem"
    drops_composed: ClassVar[bool] = True  # measured on the DSL
    name: ClassVar[str]

    dtype: DType
    num_matrices: int
    transpose: bool = False
    mode: tuple[int, int] = (8, 8)

    @property
    def instruction_bits(self) -> int:
        """One row of an 8x8 b16 matrix is 16 bytes (PTX ISA, ldmatrix)."""
        return 128

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

    def traits(self) -> AtomTraits:
        """Rows on one side, the fragment of registers on the other."""
        from layoutcheck.atoms.matrix.traits import ldmatrix_traits

        return ldmatrix_traits(self)


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

    def traits(self) -> AtomTraits:
        """Rows on one side, the fragment of registers on the other."""
        from layoutcheck.atoms.matrix.traits import stmatrix_traits

        return stmatrix_traits(self)
