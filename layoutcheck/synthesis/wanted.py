"""What is asked for: a tile, where it comes from, who reads it, and with how many threads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from layoutcheck.algebra.integers import divisor
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.memref import Memref
from layoutcheck.machine.arch import Arch
from layoutcheck.machine.dtypes import DType

ENGINES = ("tma", "cp.async", "universal")
LOADS_ONLY = "cp.async"
"""The engine without stores: those of its plans are threads'."""
TARGETS = (
    "ldmatrix", "ldmatrix.trans", "wgmma.A", "wgmma.B", "tcgen05.A", "tcgen05.B", "gmem", "registers",
)  # fmt: skip
MAJORS = ("MN", "K")
TURNED_BY_WGMMA = ("f16", "bf16")
"""Types that wgmma reads along MN too (PTX ISA, wgmma.mma_async: imm-trans-a, imm-trans-b)."""
ACCUMULATOR = "accumulator"
BYTE = 8
MOST_THREADS = 1024
MOST_STAGES = 32
MOST_EXTENT = 1024
MULTIPLIED_ROWS, MULTIPLIED_K_BYTES = 64, 32
"""Rows of A, and bytes of a row of either operand, that wgmma and tcgen05 multiply at once (PTX ISA; rows of
tcgen05 are these at least)."""
PROBE_PITCH = 8192
"""Elements between neighbours of a mode whose stride only the run knows: as in the measured transposes."""


class Consumer(NamedTuple):
    """A reader of the tile: its `target`; `turned` where it reads the transposed tile (`^T`)."""

    target: str
    turned: bool = False

    @property
    def modes(self) -> tuple[int, int]:
        """The tile's modes that are MN and K to this reader."""
        return (1, 0) if self.turned else (0, 1)

    @property
    def unit(self) -> str:
        """The instruction's family: "ldmatrix", "wgmma", "tcgen05", "gmem" or "registers"."""
        return self.target.partition(".")[0]

    def __str__(self) -> str:
        return self.target + ("^T" if self.turned else "")


@dataclass(frozen=True)
class Wanted:
    """A checked request. `src` and `dst` are whole global tensors, `dst` None where no consumer is "gmem".

    `tile` has modes (MN, K); `major` is the mode, 0 or 1, along which an operand (or a thread's registers)
    is contiguous, None where that is left open. `arch` is the target, `engines` those allowed. With
    `accumulator` the tile comes from the registers of MMAs, for which `src` only stands. With `tails` the
    last tiles may be cut by the tensors' edges. `packed` are the 4-bit elements of a request whose tile,
    tensors and `dtype` are of their bytes, two elements each.
    """

    tile: tuple[int, int]
    dtype: DType
    src: Memref
    dst: Memref | None
    consumers: tuple[Consumer, ...]
    major: int | None
    threads: int
    stages: int
    arch: Arch
    engines: tuple[str, ...]
    accumulator: bool = False
    tails: bool = False
    packed: DType | None = None

    @property
    def title(self) -> str:
        """`(128,64) bf16`, as it was asked for."""
        mn, k = self.tile
        if self.packed is None:
            return f"({mn},{k}) {self.dtype}"
        fast = fast_mode(self.src)
        return f"({mn * (2 - bool(fast))},{k * (1 + bool(fast))}) {self.packed}, two in a byte"

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return self.dtype.bits // 8

    @property
    def parts(self) -> list[str]:
        """Of each operand that whole instructions do not make up, which part is left over, in a sentence."""
        found = []
        for one in self.consumers:
            if one.unit not in ("wgmma", "tcgen05"):
                continue
            (rows, k), size = (self.tile[mode] for mode in one.modes), self.element_bytes
            asked = [f"rows by {MULTIPLIED_ROWS}"] * (one.target[-1] == "A" and rows % MULTIPLIED_ROWS > 0)
            asked += [f"K by {MULTIPLIED_K_BYTES // size}"] * (k * size % MULTIPLIED_K_BYTES > 0)
            if asked:
                found.append(
                    f"no {one.unit} reads this operand whole: {one} takes {' and '.join(asked)}, "
                    "and the last ones would read past the tile"
                )
        return found

    @property
    def divided(self) -> bool:
        """Whether blocks share the tiles along K of a row of tiles: a reader's MMAs would add them up."""
        return self.dst is not None and all(one.target == "gmem" for one in self.consumers)

    def tile_of(self, tensor: Memref) -> Memref:
        """A full tile of a global tensor, as `local_tile` cuts it."""
        return tensor.with_layout(Layout(self.tile, tensor.layout.stride))

    def probe(self, tensor: Memref) -> Memref:
        """A tile whose strides are numbers, to count sectors with."""
        return probed(self.tile_of(tensor))


def probed(tensor: Memref) -> Memref:
    """The tensor with numbers for the strides that only the run knows (`PROBE_PITCH`)."""

    def known(stride: Any) -> Any:
        if isinstance(stride, tuple):
            return tuple(map(known, stride))
        return stride if isinstance(stride, int) else math.lcm(PROBE_PITCH, divisor(stride))

    return tensor.with_layout(Layout(tensor.layout.shape, known(tensor.layout.stride)))


def fast_mode(tensor: Memref) -> int | None:
    """The mode of stride 1 of a global tensor, if there is one."""
    stride: Any = tensor.layout.stride
    return next((mode for mode, one in enumerate(stride) if one == 1), None)
