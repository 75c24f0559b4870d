"""An atom that is not modelled: nothing is known of what the compiler says."""

from __future__ import annotations

from layoutcheck.atoms.family import Compiler
from layoutcheck.atoms.other import OtherAtom
from layoutcheck.copies.compiler.prediction import Prediction


def check_type(atom: OtherAtom) -> Prediction:
    """That we cannot say."""
    return Prediction("unknown", f"copies of {atom.name} are not modelled", "unsupported_atom", "atom")


COMPILER = Compiler(check_type=check_type)
