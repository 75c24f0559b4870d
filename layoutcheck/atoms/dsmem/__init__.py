"""`CopyDsmemStoreOp`: `st.async`, registers to the shared memory of another CTA of the cluster.

PTX ISA, st.async (sm_90): 4, 8 or 16 bytes, the address a multiple of them; an mbarrier beside the data
counts the bytes. The destination is a `dsmem` pointer, which `mapa` makes of a shared address and a CTA's
rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutcheck.copies.atom import VectorAtom
from layoutcheck.machine.arch import Arch, Needs
from layoutcheck.machine.dtypes import DType

WIDTHS_BITS = (32, 64, 128)


@dataclass(frozen=True, slots=True)
class DsmemStore(VectorAtom):
    """One `st.async` of `width_bits` for each run of V; 0 means one element."""

    family: ClassVar[str] = "dsmem"
    # PTX ISA, st.async, Target ISA Notes; ptxas 13.0 agrees (docs/evidence/arch.json).
    needs: ClassVar[Needs] = Needs(Arch(90))
    spaces: ClassVar[tuple[str, str]] = ("rmem", "dsmem")
    completion: ClassVar[str] = "barrier"  # beside the data
    to_rank: ClassVar[bool] = True
    constructor: ClassVar[str] = "cute.nvgpu.cpasync.CopyDsmemStoreOp()"

    dtype: DType
    width_bits: int = 0

    def __str__(self) -> str:
        width = f", {self.width_bits} b" if self.width_bits else ""
        return f"!cute_nvgpu.atom.dsmem_store<{self.dtype}{width}>"

    @property
    def phrase(self) -> str:
        """`st.async 128 bits (8 x bf16)`."""
        return f"st.async {self.width_phrase}"
