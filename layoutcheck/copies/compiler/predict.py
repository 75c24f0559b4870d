"""`predict`: the compiler's word on a copy, through the Python function it was written with."""

from __future__ import annotations

from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.python_layer import (
    through_atom_call,
    through_autovec,
    through_basic_copy,
    through_basic_copy_if,
    through_copy,
)
from layoutcheck.copies.compiler.types import check_pointers, check_type
from layoutcheck.copies.compiler.verifier import ACCEPTED, modelled_atom, predict_verifier
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.opaque import OtherOperand, is_composed
from layoutcheck.errors import InputError
from layoutcheck.machine.atoms import RegisterCopy, TmaCopy, UniversalCopy


def predict(copy: Copy) -> Prediction:
    """What DSL 4.8.1 says of the copy: its first error, as `copy.op` meets it, or that it is accepted.

    Raises InputError for an op that does not exist, and for a copy that needs an atom and has none.
    """
    if isinstance(copy.atom, TmaCopy):
        from layoutcheck.copies.compiler.tma import predict_tma  # other copies start without it

        return predict_tma(copy)
    for operand, view in (("src", copy.src), ("dst", copy.dst), ("pred", copy.pred)):
        if isinstance(view, OtherOperand):
            if operand != "pred" and is_composed(view) and _wants_strides(copy):
                message = "expects layouts of src and dst to be LayoutType"
                return rejected("composed_layout", message, operand, got=str(view))
            message = f"copies of a {view.name} are not modelled"
            return Prediction("unknown", message, "unsupported_operand", operand)
    reached = check_pointers(copy) or _reached(copy)
    if reached is None:
        return ACCEPTED
    return reached if isinstance(reached, Prediction) else predict_verifier(reached)


def _wants_strides(copy: Copy) -> bool:
    """Whether the atom looks for a vector in the layouts, and so refuses one that is composed."""
    sides = {"s2r": copy.src, "r2s": copy.dst}
    return copy.op == "copy" and (
        isinstance(copy.atom, UniversalCopy)
        or (isinstance(copy.atom, RegisterCopy) and is_composed(sides.get(copy.atom.kind, copy.src)))
    )


def _reached(copy: Copy) -> Prediction | Copy | None:
    """The copy as the verifier gets it, what stops it before, or None where no verifier follows."""
    if copy.op in ("copy", "copy_atom_call"):
        atom = modelled_atom(copy)
        if isinstance(atom, Prediction):
            return atom
        return check_type(atom) or (through_copy(copy) if copy.op == "copy" else through_atom_call(copy))
    if copy.op == "autovec_copy":
        return through_autovec(copy)
    if copy.op == "basic_copy":
        return through_basic_copy(copy)
    if copy.op == "basic_copy_if":
        return through_basic_copy_if(copy)
    raise InputError(f"unknown kind of copy '{copy.op}'", expected="copy, autovec_copy, basic_copy, ...")
