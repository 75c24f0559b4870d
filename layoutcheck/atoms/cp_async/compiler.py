"""`cp.async`: no check looks at the strides. Measured."""

from __future__ import annotations

from layoutcheck.atoms.cp_async import WIDTHS_BITS, CpAsync
from layoutcheck.atoms.family import Compiler
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import meets_requirement, npow2_sub_byte, one_element
from layoutcheck.copies.copy import Copy


def space(_atom: CpAsync, copy: Copy) -> Prediction | None:
    """The instruction names both spaces; a generic pointer is not enough."""
    if copy.src.space != "gmem":
        return rejected("space", f"src expects global based memref, but got {copy.src.space}", "src")
    if copy.dst.space != "smem":
        return rejected("space", f"dst expects shared based memref, but got {copy.dst.space}", "dst")
    return None


def width(atom: CpAsync, _copy: Copy) -> Prediction | None:
    """PTX's cp-size: 4, 8 or 16 bytes, and then with .cg only 16."""
    for allowed in (WIDTHS_BITS, atom.widths_bits):
        if atom.width_bits not in allowed:
            widths = ", ".join(map(str, allowed))
            message = f"'{atom}' 'cp_size' only supports ({widths}), but got {atom.width_bits}."
            return rejected("width", message, "atom", width_bits=atom.width_bits, allowed_bits=allowed)
    return None


def pointers(atom: CpAsync, copy: Copy) -> Prediction | None:
    """Both sides; the strides are never looked at."""
    for operand, view in (("src", copy.src), ("dst", copy.dst)):
        found = meets_requirement(atom, operand, view, atom.width_bits, atom.width_bits)
        if found:
            return found
    return None


# Its type takes any width: the verifier looks later.
COMPILER = Compiler(checks=(space, width, npow2_sub_byte, pointers), default=one_element)
