"""`CopyBulkG2SOp`, `CopyBulkS2GOp`, `CopyBulkS2SOp` and their variants: non-tensor `cp.async.bulk`.

PTX ISA, cp.async.bulk: one thread moves a run of bytes; both addresses and the size are multiples of 16.
Global to shared memory and shared memory to shared memory of the cluster complete on an mbarrier, by bytes;
shared to global memory by a bulk group. sm_90; a byte mask (`.cp_mask`) needs sm_100.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutcheck.copies.atom import VectorAtom
from layoutcheck.machine.arch import Arch, Needs
from layoutcheck.machine.dtypes import DType

KINDS = ("g2s", "s2g", "s2s")
SPACES = {"g2s": ("gmem", "smem"), "s2g": ("smem", "gmem"), "s2s": ("smem", "smem")}
GRAIN_BYTES = 16  # PTX ISA, cp.async.bulk: of both addresses and of the size


@dataclass(frozen=True, slots=True)
class BulkCopy(VectorAtom):
    """`kind` is one of `KINDS`; `width_bits` 0 means auto: as much of V as both sides keep together.

    `multicast` (g2s) writes to every CTA of a mask, `byte_mask` (s2g) leaves out bytes of each 16.
    """

    family: ClassVar[str] = "bulk"
    rules: ClassVar[str] = "bulk"
    by_engine: ClassVar[bool] = True
    six_bits: ClassVar[bool] = True
    address_bytes: ClassVar[int] = GRAIN_BYTES  # of a copy of any size

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
    def needs(self) -> Needs:
        """PTX ISA, cp.async.bulk, Target ISA Notes; ptxas 13.0 agrees (docs/evidence/arch.json)."""
        return Needs(Arch(100) if self.byte_mask else Arch(90))

    @property
    def spaces(self) -> tuple[str, str]:
        """What the kind says."""
        return SPACES[self.kind]

    @property
    def completion(self) -> str:
        """An mbarrier counts the bytes that arrive in shared memory."""
        return "group" if self.kind == "s2g" else "barrier"

    @property
    def to_rank(self) -> bool:
        """Within the shared memory of the cluster."""
        return self.kind == "s2s"

    @property
    def phrase(self) -> str:
        """`bulk g2s 1024 bits (64 x bf16), multicast`."""
        what = ", multicast" if self.multicast else ", byte mask" if self.byte_mask else ""
        return f"bulk {self.kind} {self.width_phrase}{what}"

    @property
    def constructor(self) -> str:
        """The DSL's operation."""
        variant = "Multicast" if self.multicast else "ByteMask" if self.byte_mask else ""
        return f"cute.nvgpu.cpasync.CopyBulk{self.kind.upper()}{variant}Op()"
