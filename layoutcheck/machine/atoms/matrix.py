"""`ldmatrix` and `stmatrix`: a warp moves small matrices between shared memory and register fragments.

PTX ISA, ldmatrix / stmatrix: each lane supplies the address of one 16-byte row; lanes 0-7 the rows of
matrix 0, lanes 8-15 of matrix 1, and so on. ldmatrix needs sm_75, stmatrix sm_90.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.machine.dtypes import DType


@dataclass(frozen=True, slots=True)
class LdMatrix:
    """`mode` is the matrix shape, `pattern` the element pattern as printed (u16, u8, u4x16p64to8, ...)."""

    dtype: DType
    num_matrices: int
    transpose: bool = False
    mode: tuple[int, int] = (8, 8)
    pattern: str = "u16"

    def __str__(self) -> str:
        rows, columns = self.mode
        return (
            f'!cute_nvgpu.atom.ldsm<val_type = {self.dtype}, mode = <"({rows},{columns})">, '
            f"sz_pattern = {self.pattern}, num_matrices = {self.num_matrices}, "
            f"{'t' if self.transpose else 'n'}>"
        )


@dataclass(frozen=True, slots=True)
class StMatrix:
    """The store counterpart of `LdMatrix`; `mode` is (8,8) for b16 and (16,8) for b8."""

    dtype: DType
    num_matrices: int
    transpose: bool = False
    mode: tuple[int, int] = (8, 8)

    def __str__(self) -> str:
        rows, columns = self.mode
        return (
            f'!cute_nvgpu.atom.stsm<{self.dtype}, mode = <"({rows},{columns})">, '
            f"num_matrices = {self.num_matrices}, {'t' if self.transpose else 'n'}>"
        )
