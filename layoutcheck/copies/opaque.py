"""`OtherOperand`: an operand that is recognised but is not a tensor in memory with a plain layout.

Coordinate tensors (what TMA copies take), shared-memory descriptors and memrefs with a composed layout are
kept as the compiler printed them, so that a report can show them and say that it does not model them.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.memref import Memref
from layoutcheck.machine.dtypes import DType


@dataclass(frozen=True, slots=True)
class OtherOperand(Memref):
    """`name` is the type (`cute.coord_tensor`, ...), `text` all of it; Memref's fields mean nothing."""

    name: str = ""
    text: str = ""

    def __str__(self) -> str:
        return self.text


def other_operand(name: str, text: str) -> OtherOperand:
    """The operand printed as `text`."""
    return OtherOperand(
        DType("index", 64, "index"), "generic", Layout.trusted(1, 0), None, None, None, name, text
    )
