"""`g2r`, `r2g`, `s2r`, `r2s`: loads and stores of a fixed width. Measured, DSL 4.8.1."""

from __future__ import annotations

from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import alignment, is_npow2_sub_byte, unit_strides
from layoutcheck.copies.copy import Copy
from layoutcheck.machine.atoms import RegisterCopy

_SIDES = {"g": "gmem", "r": "rmem", "s": "smem"}


def space(atom: RegisterCopy, copy: Copy) -> Prediction | None:
    """The spaces the name says; a generic pointer may stand for any of them."""
    for operand, view, letter in (("src", copy.src, atom.kind[0]), ("dst", copy.dst, atom.kind[2])):
        if view.space not in (_SIDES[letter], "generic"):
            return rejected(
                "space",
                f"expects {operand} to be {_SIDES[letter]}-based or generic memref, but got {view.space}",
                operand,
            )
    return None


def element(_atom: RegisterCopy, copy: Copy) -> Prediction | None:
    """Nothing is converted, so widths agree; elements of 3, 5, 6 or 7 bits have no byte address."""
    bits = copy.src.dtype.bits
    for operand, view in (("src", copy.src), ("dst", copy.dst)):
        if is_npow2_sub_byte(view.dtype.bits):
            return rejected(
                "npow2_sub_byte",
                "expects src and dst element not to be non-pow2 sub-byte type, but got "
                f"{copy.src.dtype} and {copy.dst.dtype}",
                operand,
                element_bits=view.dtype.bits,
            )
    if copy.dst.dtype.bits != bits:
        return rejected(
            "element_width",
            f"expects src and dst element to have size equal to {bits}, but got {copy.src.dtype} "
            f"and {copy.dst.dtype}",
            src_bits=bits,
            dst_bits=copy.dst.dtype.bits,
        )
    return None


def width(atom: RegisterCopy, copy: Copy) -> Prediction | None:
    """Whole elements (of the tensors; the type itself checked the atom's)."""
    bits = copy.src.dtype.bits
    if atom.width_bits % bits:
        return rejected(
            "width",
            f"expects copy_bits to be a multiple of bits_per_elt({bits}), but got {atom.width_bits}",
            "atom",
            width_bits=atom.width_bits,
            element_bits=bits,
        )
    return None


def vector(atom: RegisterCopy, copy: Copy) -> Prediction | None:
    """n elements must be one run of static strides (their product is tested) on both sides."""
    return unit_strides(copy, atom.width_bits, "expects atom strides of src and dst to be")


def pointers(atom: RegisterCopy, copy: Copy) -> Prediction | None:
    """Every side that is not in registers."""
    for operand, view in (("src", copy.src), ("dst", copy.dst)):
        if view.space == "rmem":
            continue
        found = alignment(
            operand,
            view,
            atom.width_bits,
            lambda have, side=operand: (  # type: ignore[misc]
                f"expects {side} ptr bit alignment to be divisible by copy_bits({atom.width_bits}), "
                f"but got {have}"
            ),
        )
        if found:
            return found
    return None


CHECKS = (element, space, width, vector, pointers)
