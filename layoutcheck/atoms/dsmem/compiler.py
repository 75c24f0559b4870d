"""`st.async` to distributed shared memory: checked as the g2r family is. Measured."""

from __future__ import annotations

from layoutcheck.atoms.dsmem import WIDTHS_BITS, DsmemStore
from layoutcheck.atoms.family import Compiler
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import (
    alignment,
    npow2_sub_byte,
    one_element,
    same_width,
    unit_strides,
    whole_elements,
)
from layoutcheck.copies.copy import Copy


def space(atom: DsmemStore, copy: Copy) -> Prediction | None:
    """From registers to a pointer that `mapa` has mapped."""
    for operand, view, need in (("src", copy.src, "rmem"), ("dst", copy.dst, "dsmem")):
        if view.space != need:
            return rejected("space", f"'{atom}' {operand} needs to be {need} based memref", operand)
    return None


def element(atom: DsmemStore, copy: Copy) -> Prediction | None:
    """Nothing is converted, so widths agree; elements of 3, 5, 6 or 7 bits have no byte address."""
    message = f"'{atom}' doesn't support non-pow2 sub-byte type"
    return npow2_sub_byte(atom, copy, message) or same_width(atom, copy)


def width(atom: DsmemStore, copy: Copy) -> Prediction | None:
    """Whole elements (of the tensors)."""
    bits = copy.src.dtype.bits
    message = f"'{atom}' copy_bits({atom.width_bits}) should be divisible by bits_per_elt({bits})"
    return whole_elements(copy, atom.width_bits, message)


def vector(atom: DsmemStore, copy: Copy) -> Prediction | None:
    """n elements must be one run of static strides (their product is tested) on both sides."""
    return unit_strides(copy, atom.width_bits, f"{atom}' atom strides of src and dst need to be")


def pointer(atom: DsmemStore, copy: Copy) -> Prediction | None:
    """The destination's base."""
    return alignment(
        "dst",
        copy.dst,
        atom.width_bits,
        lambda have: (
            f"{atom}' dst ptr bit alignment need to be divisible by copy_bits({atom.width_bits}), "
            f"but got {have}"
        ),
    )


def check_type(atom: DsmemStore) -> Prediction | None:
    """Widths that the type itself takes; 0 stands for one element."""
    width = atom.width_bits or atom.dtype.bits
    if width not in WIDTHS_BITS:
        message = f"expects copy_bits to be one of (0, 32, 64, 128), but got {width}"
        return rejected("atom_width", message, "atom", width_bits=width)
    return None


COMPILER = Compiler((space, element, width, vector, pointer), check_type, one_element)
