"""`CopyG2ROp`, `CopyR2GOp`, `CopyS2ROp`, `CopyR2SOp`: loads and stores of a fixed width (PTX ISA, ld and st).

Options are the instructions' memory order, scope and eviction hints, as the DSL prints them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutcheck.atoms.register.attributes import argument
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.machine.dtypes import DType

KINDS = ("g2r", "r2g", "s2r", "r2s")
SPACES = {"g": "gmem", "s": "smem", "r": "rmem"}  # the letters of a kind


@dataclass(frozen=True, slots=True)
class RegisterCopy(ThreadAtom):
    """`kind` is one of `KINDS`; `options` are printed attributes such as ("mem_order", "relaxed")."""

    family: ClassVar[str] = "register"
    booleans: ClassVar[bool] = True

    kind: str
    dtype: DType
    width_bits: int
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        extra = "".join(f" {key} = {value}" for key, value in self.options)
        return f"!cute_nvgpu.atom.{self.kind}<{self.dtype} copy_bits = {self.width_bits}{extra}>"

    @property
    def spaces(self) -> tuple[str, str]:
        """What the kind says."""
        return SPACES[self.kind[0]], SPACES[self.kind[2]]

    @property
    def phrase(self) -> str:
        """`g2r 128 bits (8 x bf16), mem_order = relaxed`."""
        options = "".join(f", {key} = {value}" for key, value in self.options)
        return f"{self.kind} {self.width_phrase}{options}"

    @property
    def constructor(self) -> str:
        """The DSL's operation."""
        return f"cute.nvgpu.Copy{self.kind.upper()}Op()"

    @property
    def call_options(self) -> str:
        """The attributes."""
        return "".join(f", {argument(*option)}" for option in self.options)
