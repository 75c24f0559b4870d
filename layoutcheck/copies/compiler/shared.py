"""Checks that several families share: element widths, pointer alignment, vectors. Measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from layoutcheck.copies.atom import Atom
from layoutcheck.copies.compiler.prediction import Prediction, aborts, rejected
from layoutcheck.copies.compiler.vectors import Inadmissible, Vectors, text, vectors
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import DescriptorView, OtherOperand
from layoutcheck.machine.dtypes import DType


def one_element(atom: Any) -> Any:
    """The atom of vectors, where a width of 0 stands for one element."""
    return atom if atom.width_bits else replace(atom, width_bits=atom.dtype.bits)


def whole_elements(copy: Copy, width_bits: int, message: str) -> Prediction | None:
    """An atom's width is one of whole elements of the tensors."""
    bits = copy.src.dtype.bits
    if width_bits % bits == 0:
        return None
    return rejected("width", message, "atom", width_bits=width_bits, element_bits=bits)


def npow2_sub_byte(atom: Atom, copy: Copy, message: str = "") -> Prediction | None:
    """Elements of 3, 5, 6 or 7 bits have no byte address of their own."""
    message = message or f"'{atom}' doesn't support npow2 sub-byte type"
    for operand, view in (("src", copy.src), ("dst", copy.dst)):
        if view.dtype.bits in (3, 5, 6, 7):
            return rejected("npow2_sub_byte", message, operand, element_bits=view.dtype.bits)
    return None


def same_width(atom: Atom, copy: Copy) -> Prediction | None:
    """Nothing is converted, so the widths of the elements agree."""
    if copy.src.dtype.bits != copy.dst.dtype.bits:
        return rejected(
            "element_width",
            f"'{atom}' src and dst need to have the same element size",
            src_bits=copy.src.dtype.bits,
            dst_bits=copy.dst.dtype.bits,
        )
    return None


def is_power_of_two_bytes(width_bits: int) -> bool:
    """1, 2, 4, ... bytes."""
    return width_bits >= 8 and width_bits & (width_bits - 1) == 0


def align_bits(view: Memref) -> int | None:
    """The alignment of a pointer as the verifier reads it; None where reading it kills the process.

    Without `align<>` a pointer is as aligned as its element is wide. Elements that do not fill bytes have no
    such default (4-bit pointers into the middle of a byte), except i1, which is stored as a byte.
    """
    return default_align_bits(view.dtype) if view.align_bytes is None else view.align_bytes * 8


def default_align_bits(element: DType) -> int | None:
    """The alignment of a pointer that states none."""
    if element.bits == 1 or element.kind == "index":
        return 8
    return element.bits if element.bits % 8 == 0 else None


def printed_pointer(view: Memref) -> str:
    """A view's pointer as the DSL prints it; a default alignment and an identity swizzle are left out."""
    facts = [str(view.dtype), view.space]
    if view.align_bytes is not None and view.align_bytes * 8 != default_align_bits(view.dtype):
        facts.append(f"align<{view.align_bytes}>")
    if view.swizzle is not None and view.swizzle.bits:
        facts.append(str(view.swizzle))
    return f"ptr<{', '.join(facts)}>"


def printed_view(view: Memref) -> str:
    """A type as the DSL prints it: without what is the default."""
    if isinstance(view, (DescriptorView, OtherOperand)):
        return str(view)
    facts = printed_pointer(view).removeprefix("ptr<").removesuffix(">")
    return f'!cute.memref<{facts}, "{view.layout}">'


def sub_byte_abort(operand: str, view: Memref) -> Prediction:
    """The death that reading such a pointer's alignment is."""
    message = f"reading the alignment of {operand}, a {view.dtype} pointer without align<>"
    return aborts("unaligned_sub_byte", message, operand)


def alignment(operand: str, view: Memref, need_bits: int, message: Callable[[int], str]) -> Prediction | None:
    """The base pointer, before any swizzle, must be a multiple of `need_bits`."""
    have = align_bits(view)
    if have is None:
        return sub_byte_abort(operand, view)
    if have % need_bits:
        return rejected(f"{operand}_alignment", message(have), operand, have_bits=have, need_bits=need_bits)
    return None


def meets_requirement(
    atom: Atom, operand: str, view: Memref, need_bits: int, said_bits: int
) -> Prediction | None:
    """As `alignment`, in the words of cp.async, ldmatrix and stmatrix, which name `said_bits`."""
    return alignment(
        operand,
        view,
        need_bits,
        lambda have: (
            f"{operand} ptr alignment ({have} bits) does not meet requirement ({said_bits} bits) "
            f"of atom '{atom}'"
        ),
    )


def vector_abort(copy: Copy, n: int, found: Vectors) -> Prediction:
    """The death that looking at an inadmissible vector is."""
    operand, view, at = (
        ("src", copy.src, found.src) if found.operand == "src" else ("dst", copy.dst, found.dst)
    )
    assert isinstance(at, Inadmissible)
    return aborts(
        "inadmissible_vector",
        f"taking {n} elements from {operand} {view.layout}: "
        f"a mode of {at.extent} does not divide the {at.left} that are left",
        operand,
        elements=n,
        extent=at.extent,
        left=at.left,
    )


def unit_strides(copy: Copy, width_bits: int, said: str) -> Prediction | None:
    """One instruction's elements must be one run of static strides on both sides (their product is tested).

    `said` is how the atom's own message begins, up to "static".
    """
    n = width_bits // copy.src.dtype.bits
    if n == 1:
        return None
    found = vectors(copy.src.layout, copy.dst.layout, n)
    if found.verdict == "aborts":
        return vector_abort(copy, n, found)
    if found.verdict == "one":
        return None
    return rejected(
        "dynamic_strides" if found.verdict == "dynamic" else "static_strides_one",
        f"{said} static and equal to 1, but got {text(found.src)} and {text(found.dst)}",
        found.operand,
        elements=n,
        **found.evidence,
    )
