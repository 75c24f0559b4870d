"""`CopyDsmemStoreOp`: `st.async`, registers to the shared memory of another CTA of the cluster.

PTX ISA, st.async (sm_90): 4, 8 or 16 bytes, the address a multiple of them; an mbarrier beside the data
counts the bytes. The destination is a `dsmem` pointer, which `mapa` makes of a shared address and a CTA's
rank.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.machine.dtypes import DType

WIDTHS_BITS = (32, 64, 128)


@dataclass(frozen=True, slots=True)
class DsmemStore:
    """One `st.async` of `width_bits` for each run of V; 0 means one element."""

    dtype: DType
    width_bits: int = 0

    def __str__(self) -> str:
        width = f", {self.width_bits} b" if self.width_bits else ""
        return f"!cute_nvgpu.atom.dsmem_store<{self.dtype}{width}>"
