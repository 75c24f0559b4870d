"""`retile-fragment`: make the register V exactly the values that the matrix instruction moves."""

from __future__ import annotations

from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.matrix import MatrixAtom
from layoutcheck.fixes.draft import Analysis, Drafts
from layoutcheck.fixes.edit import edited

STRATEGY = "retile-fragment"

_REGISTER_BITS = 32  # PTX ISA, ldmatrix/stmatrix: one 32-bit register a matrix and thread


def propose(analysis: Analysis) -> Drafts:
    """The fragment that the atom fills or reads; shared memory stays as it is."""
    copy, atom = analysis.copy, analysis.copy.atom
    if not isinstance(atom, MatrixAtom) or atom.mode != (8, 8) or copy.tiling is not None:
        return
    side = atom.register_side
    registers = copy.side(side)
    values = atom.num_matrices * _REGISTER_BITS // registers.dtype.bits
    if values < 1 or registers.space != "rmem":  # elements wider than all registers of the atom
        return
    made = copy.with_side(side, registers.with_layout(_first(registers.layout, values)))
    yield edited(STRATEGY, f"{values} values a thread for x{atom.num_matrices}", copy, made)


def _first(layout: Layout, values: int) -> Layout:
    """The layout with V = ((values, 1)) contiguous and its rest modes spaced by at least that."""
    rest = layout.modes[1:]
    strides = tuple(_spaced(mode.stride, values) for mode in rest)
    return Layout(((values, 1), *(m.shape for m in rest)), ((1, 0), *strides))


def _spaced(stride: object, values: int) -> object:
    if isinstance(stride, tuple):
        return tuple(_spaced(s, values) for s in stride)
    return -(-stride // values) * values if isinstance(stride, int) else stride
