"""The MLIR verifier of `cute.copy`: types, then shapes, then predicate, then the atom's own checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from layoutcheck.copies.compiler import bulk, cp_async, dsmem, matrix, register, tmem, universal
from layoutcheck.copies.compiler.operands import check_predicate, check_shapes
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.copies.compiler.types import check_pointers, check_type, default_width
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.machine.atoms import (
    Atom,
    BulkCopy,
    CpAsync,
    DsmemStore,
    LdMatrix,
    OtherAtom,
    RegisterCopy,
    S2TCopy,
    StMatrix,
    TmemLoad,
    TmemStore,
    UniversalCopy,
)

ACCEPTED = Prediction("accepted")

# The checks of each family, in the verifier's order: the first that fails is the error the user sees. Each
# takes the atom and the copy, operands as the verifier gets them, and returns what stops it, or None.
CHECKS: dict[type, tuple[Callable[[Any, Copy], Prediction | None], ...]] = {
    UniversalCopy: universal.CHECKS,
    CpAsync: cp_async.CHECKS,
    RegisterCopy: register.CHECKS,
    LdMatrix: matrix.CHECKS,
    StMatrix: matrix.CHECKS,
    BulkCopy: bulk.CHECKS,
    DsmemStore: dsmem.CHECKS,
    TmemLoad: tmem.TMEM_CHECKS,
    TmemStore: tmem.TMEM_CHECKS,
    S2TCopy: tmem.S2T_CHECKS,
}


def modelled_atom(copy: Copy) -> Atom | Prediction:
    """The atom the copy is made with (a tiled copy is judged as its atom), or that we cannot say."""
    atom = copy.tiled.atom if copy.tiled is not None else copy.atom
    if atom is None:
        raise InputError("a copy needs an atom")
    if isinstance(atom, OtherAtom):
        return Prediction("unknown", f"copies of {atom.name} are not modelled", "unsupported_atom", "atom")
    return atom


def predict_verifier(copy: Copy) -> Prediction:
    """The verifier's word on `cute.copy(atom, src, dst[, pred])` with the operands as they stand."""
    atom = modelled_atom(copy)
    if isinstance(atom, Prediction):
        return atom
    refused = check_type(atom) or check_pointers(copy)
    if refused:
        return refused
    atom = default_width(atom)
    stopped = check_shapes(copy) or check_predicate(atom, copy)
    if stopped:
        return stopped
    if not isinstance(atom, S2TCopy):
        stopped = tmem.memrefs(atom, copy)
        if stopped:
            return stopped
    for check in CHECKS[type(atom)]:
        stopped = check(atom, copy)
        if stopped:
            return stopped
    return ACCEPTED
