"""`cpasync.CopyG2SOp`: non-bulk `cp.async`, global to shared memory (PTX ISA, cp.async; sm_80 and later)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.machine.arch import Arch, Needs
from layoutcheck.machine.dtypes import DType

# PTX ISA: cp-size of `.ca` is 4, 8 or 16 bytes, of `.cg` 16 only.
WIDTHS_BITS = (32, 64, 128)
WIDTHS_BITS_GLOBAL = (128,)

CACHE_MODES = ("always", "global", "streaming", "last_use", "none")


@dataclass(frozen=True, slots=True)
class CpAsync(ThreadAtom):
    """One `cp.async` of `width_bits` a rest coordinate; `cache` is one of `CACHE_MODES`."""

    family: ClassVar[str] = "cp_async"
    booleans: ClassVar[bool] = True
    walks_v: ClassVar[bool] = False
    folds_float_pred: ClassVar[bool] = True  # measured on the DSL
    drops_composed: ClassVar[bool] = True  # likewise
    # PTX ISA, cp.async, Target ISA Notes; ptxas 13.0 agrees (docs/evidence/arch.json).
    needs: ClassVar[Needs] = Needs(Arch(80))
    spaces: ClassVar[tuple[str, str]] = ("gmem", "smem")
    least_bits: ClassVar[int] = WIDTHS_BITS[0]

    dtype: DType
    width_bits: int
    cache: str = "always"

    def __str__(self) -> str:
        return f"!cute_nvgpu.atom.simt_async_copy<{self.dtype}, cache = {self.cache}, {self.width_bits} b>"

    @property
    def phrase(self) -> str:
        """`cp.async 128 bits (8 x bf16), cache = global`."""
        cache = "" if self.cache == "always" else f", cache = {self.cache}"
        return f"cp.async {self.width_phrase}{cache}"

    @property
    def constructor(self) -> str:
        """The DSL's operation; its default cache mode is left out."""
        name = self.cache.upper()
        mode = "" if name == "ALWAYS" else f"cute.nvgpu.cpasync.LoadCacheMode.{name}"
        return f"cute.nvgpu.cpasync.CopyG2SOp({mode})"

    @property
    def past_l1(self) -> bool:
        """`.cg` caches in L2 only."""
        return self.cache == "global"

    @property
    def widths_bits(self) -> tuple[int, ...]:
        """Those of the cache mode."""
        return WIDTHS_BITS_GLOBAL if self.past_l1 else WIDTHS_BITS

    def with_width(self, width_bits: int) -> CpAsync:
        """`.cg` exists for 16 bytes only, so a narrower one is `.ca`."""
        return replace(self, width_bits=width_bits, cache=self.cache if width_bits == 128 else "always")
