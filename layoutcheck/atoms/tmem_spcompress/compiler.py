"""Loads that compress: what the compiler says of their types and destinations. Measured."""

from __future__ import annotations

from layoutcheck.atoms.family import Compiler
from layoutcheck.atoms.tmem_spcompress import REPEATS, TmemLoadSPCompress
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import printed_view
from layoutcheck.copies.copy import Copy


def check_type(atom: TmemLoadSPCompress) -> Prediction | None:
    """Repetitions and the element type; of the shape 32x32b, the only one that the DSL makes."""
    if (atom.lanes, atom.width_bits) != (32, 32):
        return Prediction("unknown", "the type of other shapes than 32x32b is not modelled", "tcgen05_form")
    if atom.repeat not in REPEATS:
        message = f"expect the number of repetitions to be one of [4,8,16,32,64,128], but got {atom.repeat}"
    elif atom.dtype.name != "f32":
        message = f"expect val_type to be f32, but got '{atom.dtype}'"
    else:
        return None
    return rejected("tcgen05_form", message, "atom", repeat=atom.repeat)


def operands(atom: TmemLoadSPCompress, copy: Copy) -> Prediction:
    """As many destinations as the form has, the first of sparse elements; the rest is not modelled."""
    wanted, given = 2 + atom.red, 1 + (copy.aux is not None)
    if given < wanted and not (atom.red and copy.aux is not None):
        word = "three" if atom.red else "two"
        message = (
            f"Expect exactly one source and {word} destinations, but got 1 sources and {given} destinations"
        )
        return rejected("operand_count", message, "aux")
    if not atom.red:
        element = f"memref of {atom.dtype} sparse element type"
        message = f"Expect first destination to be a {element}, but got: '{printed_view(copy.dst)}'"
        return rejected("aux_kind", message, "dst", got=str(copy.dst))
    return Prediction("unknown", f"copies by {atom.title} are not modelled", "unsupported_atom", "atom")


COMPILER = Compiler((operands,), check_type)
