"""`universal_copy`: plain loads and stores. Measured."""

from __future__ import annotations

import math

from layoutcheck.atoms.family import Compiler
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.compiler.prediction import Prediction, aborts, rejected
from layoutcheck.copies.compiler.shared import (
    align_bits,
    alignment,
    is_power_of_two_bytes,
    npow2_sub_byte,
    printed_pointer,
    same_width,
    vector_abort,
)
from layoutcheck.copies.compiler.vectors import contiguous_run, vectors
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref


def space(atom: UniversalCopy, copy: Copy) -> Prediction | None:
    """Plain ld/st reach every space but tensor memory."""
    for operand, view in (("src", copy.src), ("dst", copy.dst)):
        if view.space == "tmem":
            return rejected("space", f"'{atom}' src and dst need be non-tmem based memref", operand)
    return None


def element(atom: UniversalCopy, copy: Copy) -> Prediction | None:
    """Nothing is converted, so widths agree. The atom's own type is not looked at."""
    return same_width(atom, copy)


def width(atom: UniversalCopy, copy: Copy) -> Prediction | None:
    """One instruction moves at least one element (the message says ">", the check is ">=")."""
    bits = copy.src.dtype.bits
    if 0 < atom.width_bits < bits:
        message = f"'{atom}' expected copy_bits > bits_per_element({bits}), but got {atom.width_bits}"
        return rejected("width", message, "atom", width_bits=atom.width_bits, element_bits=bits)
    return None


def vector(atom: UniversalCopy, copy: Copy) -> Prediction | None:
    """The n elements of one instruction must be one run on both sides, and the base aligned to it.

    Contiguity is tested as "the product of the strides is 1", and neither it nor the width's alignment is
    asked for where a stride that the vector meets is dynamic.
    """
    bits = copy.src.dtype.bits
    if atom.width_bits == 0:
        return pointer(atom, copy, auto_elements(copy) * bits)
    if atom.width_bits == bits:
        return pointer(atom, copy, bits)
    n = atom.width_bits // bits
    found = vectors(copy.src.layout, copy.dst.layout, n)
    if found.verdict == "aborts":
        return vector_abort(copy, n, found)
    if found.verdict == "dynamic":
        return pointer(atom, copy, bits)
    if found.verdict == "one" and found.src == found.dst:
        return pointer(atom, copy, n * bits)
    ones = found.verdict == "one"
    return rejected(
        "static_strides_match" if ones else "static_strides_one",
        f"'{atom}' cannot vectorize copy to {n} elements (static strides must {'match' if ones else 'be 1'})",
        None if ones else found.operand,
        elements=n,
        **found.evidence,
    )


def addressed(copy: Copy) -> tuple[str, Memref]:
    """The one side whose pointer a universal copy looks at: the source, or what registers are stored to."""
    return ("dst", copy.dst) if copy.src.space == "rmem" else ("src", copy.src)


def auto_elements(copy: Copy) -> int:
    """The elements a universal copy of width 0 takes at once: what both layouts run and the pointer bears.

    A pointer less aligned than one element bears any number, which then fails the alignment check.
    """
    _, view = addressed(copy)
    run = math.gcd(contiguous_run(copy.src.layout), contiguous_run(copy.dst.layout))
    have = align_bits(view) or 0
    return math.gcd(run, have // view.dtype.bits)


def pointer(atom: UniversalCopy, copy: Copy, need_bits: int) -> Prediction | None:
    """The pointer of the addressed side. The message says S where that side's type is the source's."""
    operand, view = addressed(copy)
    same = (printed_pointer(view), view.layout) == (printed_pointer(copy.src), copy.src.layout)
    letter = "S" if same else "D"
    return alignment(
        operand,
        view,
        need_bits,
        lambda have: (
            f"{letter} ptr alignment ({have} bits) does not meet requirement ({need_bits} bits) "
            f"of atom '{atom}'"
        ),
    )


def check_type(atom: UniversalCopy) -> Prediction | None:
    """Widths that the type itself takes."""
    if atom.width_bits != 0 and not is_power_of_two_bytes(atom.width_bits):
        message = f"expected copy_bits to be 0 (auto) or a power of 2 (>= 8), but got {atom.width_bits}"
        return rejected("atom_width", message, "atom", width_bits=atom.width_bits)
    return None


def flat_predicate(atom: UniversalCopy, copy: Copy) -> Prediction | None:
    """A bare atom must copy single elements of its own type; inside a tiled copy that is not checked."""
    if copy.tiled is not None:
        return None
    if atom.dtype.kind == "index" and atom.width_bits:
        return aborts("index_pred", "asking for the width of index", "atom", signal="SIGSEGV")
    bits = 19 if atom.dtype.name == "tf32" else atom.dtype.bits  # tf32's significant bits
    if atom.width_bits not in (0, bits):
        message = f"expects copy_bits to be : {bits} but got : {atom.width_bits}"
        return rejected("pred_width", message, "atom", width_bits=atom.width_bits, element_bits=bits)
    return None


COMPILER = Compiler(
    checks=(space, npow2_sub_byte, element, width, vector),
    check_type=check_type,
    wants_strides=lambda _copy: True,
    flat_predicate=flat_predicate,
)
