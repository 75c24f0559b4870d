"""What every transpose asks of the memory system: the accesses of one block, written as layouts.

An access is a layout `(threads, instructions)` of element offsets, as the kernel's partitions have it; the
rows of x and y are `L` elements long, and the block is the one at the origin. Needs no DSL and no GPU.
`benchmarks/transpose_counters.py` counts the same on an H200, and tests/kernels/test_cost.py compares the
two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from layoutcheck.algebra.image import image
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.analysis.cost import CopyCost, accesses_cost
from layoutcheck.copies.moves import Access
from layoutcheck.machine.cost import CLOCK_GHZ, NOTHING, SMS, Counts, busy_cycles

L = 8192
"""Elements of a row of x and of y."""

BASES = {"x": 0, "smem": 0, "out": 1 << 17, "y": 1 << 40}
"""Byte addresses of x, y and the tiles in shared memory."""

PLAIN = Swizzle(0, 4, 3)


class Block(NamedTuple):
    """The copies of one thread block, and the bytes it reads and writes."""

    copies: tuple[CopyCost, ...]
    bytes_moved: int
    element_bytes: int = 2

    @property
    def counts(self) -> Counts:
        """What all copies ask for."""
        return sum((copy.counts for copy in self.copies), NOTHING)

    def blocks(self, size: int) -> int:
        """How many transpose a matrix of `size` rows and columns."""
        return 2 * size * size * self.element_bytes // self.bytes_moved

    def microseconds(self, size: int) -> float:
        """The predicted time of that transpose."""
        return self.blocks(size) / SMS * busy_cycles(self.counts) / CLOCK_GHZ / 1000


def access(
    op: str, where: str, width_bytes: int, shape: Any, stride: Any, unit: int = 2, swizzle: Swizzle = PLAIN
) -> Access:
    """Accesses of one kind by all threads: `(threads, instructions)` -> element of `unit` bytes."""
    layout = Layout(shape, stride)
    offsets = image(layout).reshape(-1, image(Layout(layout[0].shape)).size) * unit
    return Access(op, "gmem" if where in "xy" else "smem", width_bytes, swizzle(offsets) + BASES[where])


def read(found: Access) -> CopyCost:
    """A load into registers."""
    return accesses_cost([found], [])


def write(found: Access) -> CopyCost:
    """A store from registers."""
    return accesses_cost([], [found])


def store_rows(shape: Any, stride: Any, unit: int = 2) -> CopyCost:
    """16 bytes a thread to y: 64 elements along M (8 or 16 threads), the other threads along N."""
    return write(access("st.global", "y", 16, shape, stride, unit))


def match_layout() -> Block:
    load = access("cp.async", "x", 16, ((16, 16), 4), ((8, L), 16 * L))
    fill = access("cp.async", "smem", 16, ((16, 16), 4), ((8, 128), 2048))
    gather = access("ld.shared", "smem", 2, ((8, 32), (8, 4)), ((1024, 1), (128, 32)))
    rows = store_rows(((8, 32), 4), ((8, L), 32 * L))
    return Block((accesses_cost([load], [fill], bypass_l1=True), read(gather), rows), 2 * 128 * 64 * 2)


def fp32_elementwise() -> Block:
    load = access("cp.async", "x", 4, ((16, 16), (8, 4)), ((L, 1), (16, 16 * L)), 4)
    fill = access("cp.async", "smem", 4, ((16, 16), (8, 4)), ((1, 64), (1024, 16)), 4)
    take = access("ld.shared", "smem", 16, ((16, 16), 8), ((4, 64), 1024), 4)
    rows = store_rows(((16, 16), 8), ((4, L), 16 * L), 4)
    return Block((accesses_cost([load], [fill]), read(take), rows), 2 * 128 * 64 * 4, 4)


def staged() -> Block:
    load = access("ld.global", "x", 16, ((16, 16), 4), ((L, 8), 16 * L))
    scatter = access("st.shared", "smem", 2, ((16, 16), (8, 4)), ((1, 512), (64, 16)))
    take = access("ld.shared", "smem", 16, ((8, 32), 4), ((8, 64), 2048))
    rows = store_rows(((8, 32), 4), ((8, L), 32 * L))
    return Block((read(load), write(scatter), read(take), rows), 2 * 128 * 64 * 2)


def through_ldmatrix(j: int, q: int, swizzle: Swizzle) -> Block:
    """Rows m = (e, j, q, half) of the tile lie e + `j` j + `q` q + 32 half rows of 128 elements on."""
    j, q, half = 128 * j, 128 * q, 32 * 128
    load = access("cp.async", "x", 16, ((16, 16), 4), ((8, L), 16 * L))
    fill_at = ((16, (2, 4, 2)), (2, 2)), ((8, (128, j, q)), (2 * q, half))
    fill = access("cp.async", "smem", 16, *fill_at, swizzle=swizzle)
    rows_at = (((2, 4, 4), 8), (2, 2)), (((128, q, j), 8), (64, half))
    rows = access("ldmatrix.x4", "smem", 16, *rows_at, swizzle=swizzle)
    out = store_rows((((4, 8), 8), (2, 2)), (((8, L), 8 * L), (64 * L, 32)))
    return Block((accesses_cost([load], [fill], bypass_l1=True), read(rows), out), 2 * 128 * 64 * 2)


def ldmatrix_trans() -> Block:
    return through_ldmatrix(2, 8, PLAIN)


def swizzled() -> Block:
    return through_ldmatrix(8, 2, Swizzle(3, 4, 4))


def tma() -> Block:
    """Boxes of 64 elements a row, one thread each: written as 16-byte accesses that ask L1 for nothing."""
    swizzle = Swizzle(3, 4, 3)
    rows_at = (((8, 4), 8), (2, 2)), (((64, 512), 8 * 1), (4096, 2048))
    rows = access("ldmatrix.x4", "smem", 16, *rows_at, swizzle=swizzle)
    out_at = (((8, 4), 8), (2, 2)), (((64, 8), 8 * 64), (4096, 32))
    columns = access("stmatrix.x4", "out", 16, *out_at, swizzle=swizzle)
    boxes = Counts(3, 0, 2 * 512, 2 * 512, read_runs=2 * 64, write_runs=128)
    return Block((read(rows), write(columns), CopyCost((), 0, boxes)), 2 * 128 * 64 * 2)


def narrow() -> Block:
    load = access("ld.global", "x", 2, ((32, 8), (16, 2)), ((1, L), (8 * L, 32)))
    keep = access("st.shared", "smem", 2, ((32, 8), (16, 2)), ((1, 66), (8 * 66, 32)))
    take = access("ld.shared", "smem", 2, ((32, 8), (8, 4)), ((66, 1), (8, 32 * 66)))
    rows = access("st.global", "y", 2, ((32, 8), (8, 4)), ((1, L), (8 * L, 32)))
    return Block((read(load), write(keep), read(take), write(rows)), 2 * 64 * 128 * 2)


def registers() -> Block:
    lanes_and_warps = (8, 4, 2, 4)
    load = access("ld.global", "x", 16, (lanes_and_warps, 8), ((8, 8 * L, 64, 32 * L), L))
    store = access("st.global", "y", 16, (lanes_and_warps, 8), ((8 * L, 8, 64 * L, 32), L))
    return Block((read(load), write(store)), 2 * 128 * 128 * 2)


def exchange() -> Block:
    """Blocks lie apart by their rows, and side by side (`Exchange.slots`)."""
    swizzle = Swizzle(3, 4, 3)
    load = access("ld.global", "x", 16, ((16, 16), 8), ((8, 8 * L), L))
    keep_at = ((16, (8, 2)), 8), ((64, (8, 64 * 128)), 64 * 16)
    keep = access("st.shared", "smem", 16, *keep_at, swizzle=swizzle)
    take_at = (((8, 2), (8, 2)), 8), (((8, 64 * 128), (64 * 16, 64)), 64 * 2)
    take = access("ld.shared", "smem", 16, *take_at, swizzle=swizzle)
    rows = access("st.global", "y", 16, ((16, 16), 8), ((8, L), 16 * L))
    return Block((read(load), write(keep), read(take), write(rows)), 2 * 128 * 128 * 2)


BLOCKS: dict[str, Callable[[], Block]] = {
    "match_layout": match_layout,
    "fp32_elementwise": fp32_elementwise,
    "staged": staged,
    "ldmatrix_trans": ldmatrix_trans,
    "swizzled": swizzled,
    "tma": tma,
    "narrow": narrow,
    "registers": registers,
    "exchange": exchange,
    "fastest": exchange,
}
"""Every variant that runs; `fastest` is `exchange` with cache hints, which the model leaves out."""
