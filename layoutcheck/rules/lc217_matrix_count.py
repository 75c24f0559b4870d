"""LC217 matrix-count: the fragment does not have the values that the matrix instruction moves."""

from __future__ import annotations

from layoutcheck.analysis.vector import NAMES, atom_v, find_break
from layoutcheck.atoms.matrix import MatrixAtom
from layoutcheck.rules.effects import evidence, first_of, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule

EXPLAINS = ("wrong", "missing", "outside_src", "outside_dst", "unmatched", "overlap", "race")
_REGISTER_BITS = 32  # PTX ISA, ldmatrix and stmatrix: one 32-bit register a matrix and thread


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """A register V that is not what the instruction fills or empties."""
    atom, kind = analysis.copy.atom, first_of(analysis, EXPLAINS)
    if not isinstance(atom, MatrixAtom) or kind is None:
        return
    side = atom.register_side
    registers = analysis.copy.side(side)
    moved = atom.num_matrices * _registers(atom) * _REGISTER_BITS // registers.dtype.bits
    given = atom_v(analysis.copy, side)
    paired = find_break(analysis.copy, side, _REGISTER_BITS // registers.dtype.bits)
    if given == moved and paired is None:
        return
    name = atom.name
    text = (
        f"The {NAMES[side]}'s V has {given} values, {name}.x{atom.num_matrices} moves {moved} a thread. "
        if given != moved
        else f"{registers.layout} puts the two halves of a register {paired.stride if paired else 0} elements apart; they are "
        "written as one 32-bit unit. "
    )
    yield rule.finding(
        f"the register fragment does not have the values that {name}.x{atom.num_matrices} moves",
        text + sentence(analysis, "outside_dst", "wrong", "missing"),
        where(analysis, kind, side, (0,)),
        {"values": given, "moved": moved, **evidence(analysis, *EXPLAINS)},
    )


def _registers(atom: MatrixAtom) -> int:
    """32-bit registers of a thread for one matrix: one for 128-byte matrices, two for 16x16 bytes."""
    rows, columns = atom.mode
    bits = 16 if atom.mode == (8, 8) else 8
    return max(1, rows * columns * bits // (32 * _REGISTER_BITS))
