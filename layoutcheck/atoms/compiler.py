"""`predict`: the compiler's word on a copy, in the compiler's own order.

It follows a copy through the Python function it was written with (`copies.compiler.python_layer`), the types
of its atom and pointers, the shapes of its operands (`copies.compiler.operands`) and the checks of its atom's
family. All of it was measured; tests/conformance/test_verifier.py holds it against the installed DSL.
"""

from __future__ import annotations

from layoutcheck.atoms.family import family_of
from layoutcheck.copies.compiler.operands import (
    check_aux,
    check_memrefs,
    check_pointers,
    check_predicate,
    check_shapes,
)
from layoutcheck.copies.compiler.prediction import ACCEPTED, Prediction, rejected
from layoutcheck.copies.compiler.python_layer import through_atom_call, through_copy
from layoutcheck.copies.copy import OPS, Copy
from layoutcheck.copies.opaque import OtherOperand, is_composed
from layoutcheck.errors import InputError


def predict(copy: Copy) -> Prediction:
    """What the DSL says of the copy: its first error, as `copy.op` meets it, or that it is accepted.

    Raises InputError for an op that does not exist, and for a copy that needs an atom and has none.
    """
    if copy.op not in OPS:
        raise InputError(f"unknown kind of copy '{copy.op}'", expected="copy, autovec_copy, basic_copy, ...")
    own = family_of(copy).compiler
    if own.whole is not None:
        return own.whole(copy)
    for operand, view in (("src", copy.src), ("dst", copy.dst), ("pred", copy.pred)):
        if isinstance(view, OtherOperand):
            if operand != "pred" and is_composed(view) and copy.op == "copy" and own.wants_strides(copy):
                message = "expects layouts of src and dst to be LayoutType"
                return rejected("composed_layout", message, operand, got=str(view))
            message = f"copies of a {view.name} are not modelled"
            return Prediction("unknown", message, "unsupported_operand", operand)
    refused = check_pointers(copy)
    if refused:
        return refused
    if own.through_python is not None:
        return own.through_python(copy)
    refused = own.check_type(copy.needed_atom)
    if refused:
        return refused
    reached = through_copy(copy) if copy.op == "copy" else through_atom_call(copy)
    if reached is None:
        return ACCEPTED
    return reached if isinstance(reached, Prediction) else predict_verifier(reached)


def predict_verifier(copy: Copy) -> Prediction:
    """The verifier's word on `cute.copy(atom, src, dst[, pred])` with the operands as they stand.

    Types, then shapes, then the predicate, then the checks of the atom's family: the first that fails is the
    error that the user sees.
    """
    atom, own = copy.needed_atom, family_of(copy).compiler
    refused = own.check_type(atom) or check_pointers(copy)
    if refused:
        return refused
    atom = own.default(atom)
    stopped = (
        check_aux(copy) or check_shapes(copy) or check_predicate(copy, lambda: own.flat_predicate(atom, copy))
    )
    if stopped is None and not own.descriptors:
        stopped = check_memrefs(atom, copy)
    for check in () if stopped else own.checks:
        stopped = check(atom, copy)
        if stopped:
            break
    return stopped or ACCEPTED
