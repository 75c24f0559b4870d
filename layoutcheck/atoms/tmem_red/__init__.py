"""`tcgen05.ld.red` (`LdRed32x32bOp`, `LdRed16x32bx2Op`): a load from tensor memory that reduces as it goes.

One source and two destinations: the registers of `tcgen05.ld`, and one register a thread with the largest or
smallest of them. 32-bit elements, the shapes 32x32b and 16x32bx2, two repetitions or more (PTX ISA,
tcgen05.ld, .red). The second piece of 16x32bx2 lies `half_split_off` columns on. `LdRed16x32bx2Op` takes 0
for it if nothing is said, so that both pieces are the same columns (measured).

From sm_103a on, and not on sm_100a (measured: the DSL's libNVVM refuses it there, and takes sm_103 and
sm_110 with `a` and `f`). None of it was run on a Blackwell GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from layoutcheck.atoms.tmem import TmemCopy, shape_name
from layoutcheck.machine.arch import Arch, Needs
from layoutcheck.machine.dtypes import DType

OPS = ("max", "maxabs", "min", "minabs")
REPEATS = (2, 4, 8, 16, 32, 64, 128)
TYPES = ("f32", "i32", "si32", "ui32")  # of which only f32 has absolute values and .NaN


@dataclass(frozen=True, slots=True)
class TmemLoadRed(TmemCopy):
    """`op` is one of `OPS`; `half_split_off`, in columns, is None where it is not printed."""

    family: ClassVar[str] = "tmem_red"
    loads: ClassVar[bool] = True
    name: ClassVar[str] = "tcgen05.ld.red"
    packing: ClassVar[tuple[str, str]] = ("pack16b", ".pack::16b")
    repeat_of_fragment: ClassVar[bool] = False
    destinations: ClassVar[int] = 2
    needs: ClassVar[Needs] = Needs(Arch(103, "a"), (10, 11))

    op: str = "max"
    nan: bool = False
    half_split_off: int | None = None

    def __str__(self) -> str:
        facts = [str(self.dtype), f"{self.lanes} DP", f"{self.width_bits} bit", f"x{self.repeat}", self.op]
        facts += ["nan"] * self.nan
        if self.half_split_off is not None:
            facts.append(f"half_split_off={self.half_split_off} : i32")
        return f"!cute_nvgpu.atom.tmem_load_red<{', '.join(facts)}>"

    @property
    def title(self) -> str:
        """`tcgen05.ld.red.32x32b.x8.max`."""
        op = self.op.replace("abs", ".abs") + ".NaN" * self.nan
        return f"{self.name}.{shape_name(self)}.x{self.repeat}.{op}"

    @property
    def split_columns(self) -> int:
        """As told."""
        return self.half_split_off or 0

    def fitted(self, element: DType, packed: bool) -> TmemLoadRed:
        """The second piece right behind the first, as the atom's thread-value layouts have it."""
        split = None if self.half_split_off is None else self.repeat
        return replace(self, dtype=element, packed=packed, half_split_off=split)

    def rectangle_phrase(self, element: DType) -> str:
        """With the place of the second piece, where that is not behind the first."""
        text = super(TmemLoadRed, self).rectangle_phrase(element)
        if self.half_split_off in (None, self.repeat):
            return text
        there = f"half_split_off = {self.half_split_off} puts the second piece that many columns on"
        return f"{text}; {there}, not {self.repeat}"
