"""`LdSPCompress32x32bOp`, `LdRedSPCompress32x32bOp`: loads from tensor memory that keep two values of four.

Two destinations, the kept values and their indices, of sparse element types; with `red` a third, the
reduced value. The DSL calls them sm_107's, for which its own ptxas has no target: what they do is not
modelled, only what the compiler says of their types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutcheck.atoms.tmem import TmemCopy
from layoutcheck.machine.arch import Arch, Needs

REPEATS = (4, 8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class TmemLoadSPCompress(TmemCopy):
    """`op` is one of `tmem_red.OPS`; `red` and `nan` as printed."""

    family: ClassVar[str] = "tmem_spcompress"
    loads: ClassVar[bool] = True
    name: ClassVar[str] = "tcgen05.ld.spcompress"
    packing: ClassVar[tuple[str, str]] = ("pack16b", ".pack::16b")
    modelled: ClassVar[bool] = False
    destinations: ClassVar[int] = 2
    # By the DSL's name of the type, `CopyAtomSM107TmemLoadSPCompressType`.
    needs: ClassVar[Needs] = Needs(Arch(107, "a"), (10,))

    op: str = "max"
    red: bool = False
    nan: bool = False

    def __str__(self) -> str:
        facts = [str(self.dtype), f"{self.lanes} DP", f"{self.width_bits} bit", f"x{self.repeat}", self.op]
        facts += ["red"] * self.red + ["nan"] * self.nan
        return f"!cute_nvgpu.atom.tmem_load_spcompress<{', '.join(facts)}>"
