"""`cpasync.CopyG2SOp`: non-bulk `cp.async`, global to shared memory (PTX ISA, cp.async; sm_80 and later)."""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.machine.dtypes import DType

# PTX ISA: cp-size of `.ca` is 4, 8 or 16 bytes, of `.cg` 16 only.
WIDTHS_BITS = (32, 64, 128)
WIDTHS_BITS_GLOBAL = (128,)

CACHE_MODES = ("always", "global", "streaming", "last_use", "none")


@dataclass(frozen=True, slots=True)
class CpAsync:
    """One `cp.async` of `width_bits` a rest coordinate; `cache` is one of `CACHE_MODES`."""

    dtype: DType
    width_bits: int
    cache: str = "always"

    def __str__(self) -> str:
        return f"!cute_nvgpu.atom.simt_async_copy<{self.dtype}, cache = {self.cache}, {self.width_bits} b>"
