"""`g2r`, `r2g`, `s2r`, `r2s`: loads and stores of a fixed width. Measured."""

from __future__ import annotations

from layoutcheck.atoms.family import Compiler
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.register.attributes import ATTRIBUTES, of
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import (
    alignment,
    is_power_of_two_bytes,
    npow2_sub_byte,
    one_element,
    unit_strides,
    whole_elements,
)
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.opaque import is_composed


def space(atom: RegisterCopy, copy: Copy) -> Prediction | None:
    """The spaces the name says; a generic pointer may stand for any of them."""
    for operand, view, need in zip(("src", "dst"), (copy.src, copy.dst), atom.spaces, strict=True):
        if view.space not in (need, "generic"):
            message = f"expects {operand} to be {need}-based or generic memref, but got {view.space}"
            return rejected("space", message, operand)
    return None


def element(atom: RegisterCopy, copy: Copy) -> Prediction | None:
    """Nothing is converted, so widths agree; elements of 3, 5, 6 or 7 bits have no byte address."""
    bits = copy.src.dtype.bits
    got = f"but got {copy.src.dtype} and {copy.dst.dtype}"
    message = f"expects src and dst element not to be non-pow2 sub-byte type, {got}"
    refused = npow2_sub_byte(atom, copy, message)
    if refused or copy.dst.dtype.bits == bits:
        return refused
    message = f"expects src and dst element to have size equal to {bits}, {got}"
    return rejected("element_width", message, src_bits=bits, dst_bits=copy.dst.dtype.bits)


def width(atom: RegisterCopy, copy: Copy) -> Prediction | None:
    """Whole elements (of the tensors; the type itself checked the atom's)."""
    bits = copy.src.dtype.bits
    message = f"expects copy_bits to be a multiple of bits_per_elt({bits}), but got {atom.width_bits}"
    return whole_elements(copy, atom.width_bits, message)


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
            lambda have, side=operand: (
                f"expects {side} ptr bit alignment to be divisible by copy_bits({atom.width_bits}), "
                f"but got {have}"
            ),
        )
        if found:
            return found
    return None


def check_type(atom: RegisterCopy) -> Prediction | None:
    """Widths and options that the type itself takes; a width of 0 stands for one element."""
    element = atom.dtype.bits
    width = atom.width_bits or element
    if not is_power_of_two_bytes(width):
        message = f"expects copy_bits to be a power of 2 (>= 8), but got {width}"
        return rejected("atom_width", message, "atom", width_bits=width)
    if width % element:
        message = f"expects copy_bits to be a multiple of bits_per_elt({element}), but got {width}"
        return rejected("atom_width", message, "atom", width_bits=width, element_bits=element)
    order = of(atom.options, "mem_order")
    for name in ("load_cache_mode", "store_cache_mode"):
        mode, usual = of(atom.options, name), ATTRIBUTES[name][2][0]
        if order != "weak" and mode != usual:
            wanted = f"expects {name} to be '{usual}' when mem_order is not 'weak'"
            return rejected("atom_options", f"{wanted}, but got '{mode}' and '{order}'", "atom")
    others = {name for name, value in atom.options if value != ATTRIBUTES[name][2][0]} - {"shared_space"}
    if "invariant" in others and len(others) > 1:
        message = (
            "invariant_load is not allowed when the other non-default memory features (e.g., mem_order) are "
            "set to non-default values"
        )
        return rejected("atom_options", message, "atom")
    return None


def wants_strides(copy: Copy) -> bool:
    """Whether the side in memory is the one that is composed."""
    assert isinstance(copy.atom, RegisterCopy)
    return is_composed(copy.dst if copy.atom.kind == "r2s" else copy.src)


COMPILER = Compiler(
    (element, space, width, vector, pointers), check_type, one_element, wants_strides=wants_strides
)
