"""`CopyG2ROp`, `CopyR2GOp`, `CopyS2ROp`, `CopyR2SOp`: loads and stores of a fixed width (PTX ISA, ld and st).

Options are the instructions' memory order, scope and eviction hints, as the DSL prints them.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.machine.dtypes import DType

KINDS = ("g2r", "r2g", "s2r", "r2s")


@dataclass(frozen=True, slots=True)
class RegisterCopy:
    """`kind` is one of `KINDS`; `options` are printed attributes such as ("mem_order", "relaxed")."""

    kind: str
    dtype: DType
    width_bits: int
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        extra = "".join(f" {key} = {value}" for key, value in self.options)
        return f"!cute_nvgpu.atom.{self.kind}<{self.dtype} copy_bits = {self.width_bits}{extra}>"
