"""`ldmatrix`, `stmatrix`: the smem side's alignment and nothing of the strides. Measured."""

from __future__ import annotations

from layoutcheck.algebra.inttuple import product, wrap
from layoutcheck.atoms.family import Compiler
from layoutcheck.atoms.matrix import LdMatrix, StMatrix, counts
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import meets_requirement
from layoutcheck.copies.copy import Copy


def space(atom: LdMatrix | StMatrix, copy: Copy) -> Prediction | None:
    """Shared memory on one side and registers on the other."""
    need = atom.spaces
    if (copy.src.space, copy.dst.space) != need:
        src, dst = ("shared", "reg") if atom.loads else ("reg", "shared")
        wrong = "src" if copy.src.space != need[0] else "dst"
        return rejected(
            "space", f"'{atom}' src needs be {src} based memref and dst needs be {dst} based memref", wrong
        )
    return None


def pointer(atom: LdMatrix | StMatrix, copy: Copy) -> Prediction | None:
    """The shared side must be aligned to the bits of V's first mode, whatever the instruction needs (128).

    The message counts those bits in the atom's element type, the check in the tensor's.
    """
    operand, view = atom.memory_side, copy.side(atom.memory_side)
    n = product(wrap(wrap(view.layout.shape)[0])[0])
    assert isinstance(n, int)
    return meets_requirement(atom, operand, view, n * view.dtype.bits, n * atom.dtype.bits)


def check_type(atom: LdMatrix | StMatrix) -> Prediction | None:
    """Shapes, patterns and counts that the type itself takes."""
    if atom.num_matrices in counts(atom):
        return None
    return rejected(
        "atom_form", f"{'LDSM' if atom.loads else 'STSM'} is not supported with this config.", "atom"
    )


COMPILER = Compiler((space, pointer), check_type)
