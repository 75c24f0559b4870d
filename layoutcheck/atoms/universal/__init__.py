"""`CopyUniversalOp`: plain loads and stores (PTX ISA, ld and st) between any spaces but tensor memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.machine.dtypes import DType


@dataclass(frozen=True, slots=True)
class UniversalCopy(ThreadAtom):
    """`width_bits` 0 means auto: the compiler picks the width from the contiguous run of the V mode."""

    family: ClassVar[str] = "universal"
    booleans: ClassVar[bool] = True
    constructor: ClassVar[str] = "cute.nvgpu.CopyUniversalOp()"

    dtype: DType
    width_bits: int = 0

    def __str__(self) -> str:
        width = f", {self.width_bits} b" if self.width_bits else ""
        return f"!cute_nvgpu.atom.universal_copy<{self.dtype}{width}>"

    @property
    def phrase(self) -> str:
        """`universal 128 bits (8 x bf16)`."""
        return f"universal {self.width_phrase}"
