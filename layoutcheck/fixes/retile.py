"""`retile-fragment`: a register V of exactly the values that the matrix instruction moves."""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.algebra.layout import Layout
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Draft

STRATEGY = "retile-fragment"

_REGISTER_BITS = 32  # PTX ISA, ldmatrix/stmatrix: one 32-bit register a matrix and thread


def propose(analysis: Analysis) -> Iterator[Draft]:
    """The fragment the atom fills, or the atom that fills the fragment; a contiguous row on the other side."""
    copy = analysis.copy
    atom = copy.atom
    if not isinstance(atom, (LdMatrix, StMatrix)) or atom.mode != (8, 8) or copy.tiling is not None:
        return
    side = "dst" if isinstance(atom, LdMatrix) else "src"
    smem_side = "src" if side == "dst" else "dst"
    registers, smem = copy.side(side), copy.side(smem_side)
    row = 128 // smem.dtype.bits
    fixed_smem = smem.with_layout(_first(smem.layout, row), max(16, smem.proved_align_bytes))
    values = atom.num_matrices * _REGISTER_BITS // registers.dtype.bits
    if row < 1 or values < 1:  # elements wider than a row, or than all registers of the atom
        return
    yield Draft(
        STRATEGY,
        f"{values} values a thread for x{atom.num_matrices}, rows of {row}",
        f"fragment = cute.make_rmem_tensor({code.layout_code(_first(registers.layout, values))}, "
        f"{code.dtype_code(registers.dtype)})",
        (
            copy.with_side(side, registers.with_layout(_first(registers.layout, values))).with_side(
                smem_side, fixed_smem
            ),
        ),
    )


def _first(layout: Layout, values: int) -> Layout:
    """The layout with V = ((values, 1)) contiguous and its rest modes spaced by at least that."""
    rest = layout.modes[1:]
    strides = tuple(_spaced(mode.stride, values) for mode in rest)
    return Layout(((values, 1), *(m.shape for m in rest)), ((1, 0), *strides))


def _spaced(stride: object, values: int) -> object:
    if isinstance(stride, tuple):
        return tuple(_spaced(s, values) for s in stride)
    return -(-stride // values) * values if isinstance(stride, int) else stride
