"""`CopyBulkG2SOp`, `CopyBulkS2GOp`, `CopyBulkS2SOp` and their variants: non-tensor `cp.async.bulk`.

PTX ISA, cp.async.bulk: one thread moves a run of bytes; both addresses and the size are multiples of 16.
Global to shared memory and shared memory to shared memory of the cluster complete on an mbarrier, by bytes;
shared to global memory by a bulk group. sm_90; a byte mask (`.cp_mask`) needs sm_100.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.machine.dtypes import DType

KINDS = ("g2s", "s2g", "s2s")
SPACES = {"g2s": ("gmem", "smem"), "s2g": ("smem", "gmem"), "s2s": ("smem", "smem")}
GRAIN_BYTES = 16  # PTX ISA, cp.async.bulk: of both addresses and of the size


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """`kind` is one of `KINDS`; `width_bits` 0 means auto: as much of V as both sides keep together.

    `multicast` (g2s) writes to every CTA of a mask, `byte_mask` (s2g) leaves out bytes of each 16.
    """

    kind: str
    dtype: DType
    width_bits: int = 0
    multicast: bool = False
    byte_mask: bool = False

    def __str__(self) -> str:
        facts = [f"copy_bits = {self.width_bits}"] if self.width_bits else []
        facts += ["mcast = true"] * self.multicast + ["mask = true"] * self.byte_mask
        return f"!cute_nvgpu.atom.bulk_copy_{self.kind}<{' '.join((str(self.dtype), *facts))}>"

    @property
    def counts_bytes(self) -> bool:
        """Whether an mbarrier counts the bytes that arrive."""
        return self.kind != "s2g"
