"""Bulk copies: the spaces and the size; no alignment, no swizzle, no element type. Measured.

The size is counted over the whole layouts, rest modes included, in bits of the *atom's* element type; what is
emitted is counted over V (execution.py).
"""

from __future__ import annotations

from typing import Any

from layoutcheck.algebra.inttuple import product
from layoutcheck.algebra.inverse import max_common_vector
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.bulk import GRAIN_BYTES, SPACES, BulkCopy
from layoutcheck.atoms.family import Compiler
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError


def space(atom: BulkCopy, copy: Copy) -> Prediction | None:
    """The instruction names both spaces; `dsmem` and generic pointers are none of them."""
    for operand, view, need in zip(("src", "dst"), (copy.src, copy.dst), SPACES[atom.kind], strict=True):
        if view.space != need:
            return rejected(
                "space", f"bulk copy {operand} expects {need} based memref, but got {view.space}", operand
            )
    return None


def size(atom: BulkCopy, copy: Copy) -> Prediction | None:
    """The width divides what both layouts keep together, and is a whole number of 16 bytes."""
    common = common_elements(copy.src.layout, copy.dst.layout)
    most = common * atom.dtype.bits
    width = atom.width_bits or most
    smaller = min(elements(copy.src), elements(copy.dst)) * atom.dtype.bits  # sizes of V[0] may differ
    evidence: dict[str, Any] = {"width_bits": width, "common_elements": common, "common_bits": most}
    divides = width % atom.dtype.bits == 0 and most % width == 0
    if width < 8 * GRAIN_BYTES:
        return rejected(
            "bulk_minimum",
            "bulk copy expected at least 128-bits, "
            f"layout max possible copy bits {width if divides else most}, "
            f"attempted copy bits {width}",
            **evidence,
        )
    if width % (8 * GRAIN_BYTES):
        return rejected("bulk_grain", "bulk copy requires copy size align to 16B", **evidence)
    if not divides or width > smaller:
        return rejected(
            "bulk_width",
            f"bulk copy bits ({width}) must be able to divide max possible copy bits "
            f"({width if divides else most})",
            **evidence,
        )
    return None


def common_elements(src: Layout, dst: Layout) -> int:
    """The elements that both layouts keep together from the first on; 1 where they cannot be composed."""
    try:
        return max_common_vector(src, dst)
    except InputError:
        return 1


def elements(view: Memref) -> int:
    """Elements of a view of static shape."""
    count = product(view.layout.shape)
    assert isinstance(count, int)
    return count


COMPILER = Compiler((size, space))  # its type takes any width
