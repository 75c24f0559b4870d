"""A shared-memory tile and everything that is done to it: who writes and reads it, at what cost.

A tile is a layout of elements in shared memory; its coordinates are counted colexicographically, so that an
element has one index whatever its address. A `TileAccess` says which element each lane of each warp
instruction starts at; swizzle or pad the tile and the indices stay, the addresses move.

    >>> tile = Layout((64, 64), (64, 1))                                   # bf16, K-major, 128-byte rows
    >>> [str(row) for row in analyse_tile(tile, 16, [matrix_access(tile, 16)])]
    ['ldmatrix.x4: 16 instructions, 512 wavefronts for 64 (8.0x), 8-way']
    >>> [row.ways for row in analyse_tile(tile, 16, [matrix_access(tile, 16)], Swizzle(3, 4, 3))]
    [1]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.algebra.image import image
from layoutcheck.algebra.inttuple import flatten, index_of, shown
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.digits import many
from layoutcheck.errors import InputError
from layoutcheck.machine import banks
from layoutcheck.machine.arch import WARP
from layoutcheck.machine.arguments import public
from layoutcheck.machine.banks import CP_ASYNC, CP_ASYNC_CG, LOAD, MATRIX, OFF, STORE, IntArray

ROW_BYTES = 16  # of a matrix row (PTX ISA, ldmatrix)


@dataclass(frozen=True, slots=True, eq=False)
class TileAccess:
    """One way a tile is accessed: a lane's access starts at element `index[instruction, lane]`, or is OFF.

    `op` is one of `banks.OPS`; `name` is for people.
    """

    name: str
    op: str
    width_bits: int
    index: IntArray

    def __post_init__(self) -> None:
        if not isinstance(self.op, str) or self.op not in banks.OPS:
            raise InputError(f"{self.name}: 'op' is {shown(self.op)}", expected=" or ".join(banks.OPS))
        if type(self.width_bits) is not int:
            object.__setattr__(self, "width_bits", index_of("width_bits", self.width_bits))
        if getattr(getattr(self.index, "dtype", None), "kind", "") != "i":
            raise InputError(f"{self.name}: 'index' is {shown(self.index)}", expected="an array of integers")
        if self.index.ndim != 2 or self.index.shape[1] != WARP:
            raise InputError(
                f"{self.name}: indices have shape {self.index.shape}", expected="[instruction, 32]"
            )


class TileCost(NamedTuple):
    """One row of the table: all the instructions of one access. `ideal` is one wavefront a phase."""

    name: str
    op: str
    width_bits: int
    instructions: int
    wavefronts: int
    ideal: int
    ways: int
    worst: int  # the first instruction with a phase of that many ways

    @property
    def ratio(self) -> float:
        """Wavefronts over the ideal; 1.0 where nothing is accessed."""
        return self.wavefronts / self.ideal if self.ideal else 1.0

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.instructions} instructions, {self.wavefronts} wavefronts for {self.ideal} "
            f"({self.ratio:.1f}x), {self.ways}-way"
        )


@public
def analyse_tile(
    tile: Layout | ComposedLayout,
    element_bits: int,
    accesses: Sequence[TileAccess],
    swizzle: Swizzle | None = None,
) -> list[TileCost]:
    """What each access of a tile costs, in order.

    A composed layout's swizzle counts elements; `swizzle`, a pointer's, counts bytes. The tile begins at
    address 0: a real one must begin at a multiple of the swizzle's period. Raises InputError for a tile that
    has no addresses, for elements that are no whole bytes, for indices outside the tile and for accesses that
    are not aligned to their own width.
    """
    addresses = tile_addresses(tile, element_bits)
    return [_cost(access, addresses_of(access, addresses, swizzle)) for access in accesses]


def tile_addresses(tile: Layout | ComposedLayout, element_bits: int) -> IntArray:
    """The byte address of every element of the tile, int64[index], before a pointer's swizzle."""
    offsets = image(tile)
    if offsets.size and int(offsets.min()) < 0:
        raise InputError(f"{tile} reaches below its base")
    return offsets * _whole_bytes(element_bits)


def _whole_bytes(element_bits: int) -> int:
    """The bytes of an element. Raises InputError where it has no address of its own."""
    if element_bits not in (8, 16, 32, 64, 128):
        raise InputError(
            f"elements of {element_bits} bits have no byte addresses", expected="8, 16, 32 or 64"
        )
    return element_bits // 8


def addresses_of(access: TileAccess, addresses: IntArray, swizzle: Swizzle | None) -> IntArray:
    """Byte addresses int64[instruction, lane] of an access in a tile of those element addresses."""
    index = access.index
    if index.size and (int(index.max()) >= addresses.size or int(index.min()) < OFF):
        raise InputError(
            f"{access.name}: element {int(index.max())} lies outside the tile of {addresses.size}"
        )
    at = addresses[index]
    if swizzle is not None:
        at = swizzle(at)
    at = np.where(index < 0, OFF, at)
    size = access.width_bits // 8
    wrong = (at % size != 0) & (index >= 0)
    if wrong.any():
        instruction, lane = (int(n[0]) for n in np.nonzero(wrong))
        raise InputError(
            f"{access.name}: instruction {instruction}, lane {lane} starts at byte "
            f"{int(at[instruction, lane])}, not a multiple of the access, {size} bytes"
        )
    return at


def _cost(access: TileAccess, at: IntArray) -> TileCost:
    found = banks.wavefronts(at, access.width_bits, access.op)
    ways = int(found.ways.max(initial=0))
    return TileCost(
        access.name,
        access.op,
        access.width_bits,
        len(at),
        int(found.wavefronts.sum()),
        int(found.phases.sum()),
        ways,
        int(found.ways.argmax()) if len(at) else 0,
    )


@public
def matrix_access(
    tile: Layout | ComposedLayout,
    element_bits: int,
    matrices: int = 4,
    store: bool = False,
    trans: bool = False,
) -> TileAccess:
    """`ldmatrix` (or `stmatrix`) walking over a whole two-mode tile, as a warp reads an MMA operand.

    A matrix row, 16 bytes, runs along the mode that is contiguous in memory; lanes 0-7 hold eight
    neighbours in the other mode. Matrices 0 and 1 follow each other across the rows, 2 and 3 lie 16 bytes
    along. `trans` is only part of the name: it changes registers, not addresses. Raises InputError where
    the tile has no contiguous mode or is not made of whole blocks.
    """
    rows, columns, along = plane(tile)
    across = 1 - along
    extent = (rows, columns)
    elements = ROW_BYTES // _whole_bytes(element_bits)
    tall = 8 * min(matrices, 2)
    wide = elements * max(1, matrices // 2)
    if matrices not in (1, 2, 4) or extent[across] % tall or extent[along] % wide:
        what = f"a tile of {rows} x {columns} elements is not made of blocks of x{matrices}"
        raise InputError(what, expected=f"multiples of {tall} across the rows and {wide} along them")
    lane = np.arange(8 * matrices)
    place = [np.zeros(0, np.int64)] * 2
    place[across] = lane % 8 + 8 * (lane // 8 % 2)
    place[along] = lane // 16 * elements
    block_across, block_along = np.meshgrid(
        np.arange(0, extent[across], tall), np.arange(0, extent[along], wide), indexing="ij"
    )
    first = (
        [block_across.ravel(), block_along.ravel()]
        if across == 0
        else [block_along.ravel(), block_across.ravel()]
    )
    index = np.full((block_across.size, WARP), OFF, np.int64)
    index[:, : 8 * matrices] = (first[0][:, None] + place[0]) + (first[1][:, None] + place[1]) * rows
    name = f"{'st' if store else 'ld'}matrix.x{matrices}{'.trans' if trans else ''}"
    return TileAccess(name, MATRIX, 128, index)


@public
def vector_access(
    tile: Layout | ComposedLayout, element_bits: int, name: str, op: str, width_bits: int, layout_tv: Layout
) -> TileAccess:
    """Loads, stores or cp.async by a thread-value layout: (thread, value) -> index of the tile.

    Every `width_bits` of consecutive values is one access. Where the layout covers only a part of the tile,
    that part is what is analysed. Raises InputError where those values are not adjacent in the tile (they
    would not be one access), for values that do not fill whole accesses and for indices outside the tile.
    """
    if len(layout_tv) != 2 or type(layout_tv.shape) is not tuple:
        raise InputError(
            f"{name}: {layout_tv} has {many(len(layout_tv), 'mode')}", expected="(thread, value)"
        )
    threads, values = (image(mode).size for mode in layout_tv.modes)
    return vectors(tile, element_bits, name, op, width_bits, image(layout_tv).reshape(values, threads))


def vectors(
    tile: Layout | ComposedLayout, element_bits: int, name: str, op: str, width_bits: int, index: IntArray
) -> TileAccess:
    """As `vector_access`, from the elements themselves: index of the tile, int64[value, thread]."""
    if op not in (LOAD, STORE, CP_ASYNC, CP_ASYNC_CG):
        raise InputError(
            f"{name}: no thread-value layout for '{op}'", expected="ld, st, cp.async or cp.async.cg"
        )
    if width_bits not in banks.LANES_PER_PHASE:
        raise InputError(f"{name}: no access is {width_bits} bits wide", expected="8, 16, 32, 64 or 128")
    addresses = tile_addresses(tile, element_bits)
    values, threads = index.shape
    each = max(1, width_bits // element_bits)
    if values % each or width_bits < element_bits:
        raise InputError(f"{name}: {values} values a thread are not whole accesses of {width_bits} bits")
    if int(index.max()) >= addresses.size or int(index.min()) < 0:
        raise InputError(f"{name} reaches element {int(index.max())} of a tile of {addresses.size}")
    index = index.reshape(values // each, each, threads)
    at = addresses[index]
    gaps = at[:, 1:] - at[:, :-1]
    if (gaps != element_bits // 8).any():
        vector, value, thread = (int(n[0]) for n in np.nonzero(gaps != element_bits // 8))
        raise InputError(
            f"{name}: values {vector * each + value} and {vector * each + value + 1} of thread {thread} are "
            f"{int(gaps[vector, value, thread])} bytes apart in the tile: they are not one access of "
            f"{width_bits} bits"
        )
    warps = -(-threads // WARP)
    lanes = np.full((values // each, warps * WARP), OFF, np.int64)
    lanes[:, :threads] = index[:, 0]
    return TileAccess(name, op, width_bits, lanes.reshape(-1, WARP))


def in_bytes(swizzle: Swizzle, element_bits: int) -> Swizzle:
    """A swizzle of element offsets as one of byte addresses: S<3,3,3> on bf16 is S<3,4,3>."""
    return replace(swizzle, base=swizzle.base + _log2_bytes(element_bits))


def in_elements(swizzle: Swizzle, element_bits: int) -> Swizzle:
    """A swizzle of byte addresses as one of element offsets: S<3,4,3> on f32 is S<3,2,3>.

    Raises InputError where it moves bytes within an element.
    """
    base = swizzle.base - _log2_bytes(element_bits)
    if base < 0:
        raise InputError(f"{swizzle} in bytes takes elements of {element_bits} bits apart")
    return replace(swizzle, base=base)


def _log2_bytes(element_bits: int) -> int:
    size = element_bits // 8
    if element_bits % 8 or size & (size - 1) or size == 0:
        raise InputError(f"elements of {element_bits} bits are not a power of two of bytes")
    return size.bit_length() - 1


def plane(tile: Layout | ComposedLayout) -> tuple[int, int, int]:
    """Extents of the two modes, and which of them is contiguous in memory. Raises InputError."""
    outer = tile.outer if isinstance(tile, ComposedLayout) else tile
    if len(outer) != 2:
        raise InputError(f"{outer} has {many(len(outer), 'mode')}", expected="a tile of two modes")
    for along in (0, 1):
        leaves: list[tuple[Any, Any]] = list(
            zip(flatten(outer[along].shape), flatten(outer[along].stride), strict=True)
        )
        if next((d for s, d in leaves if s != 1), None) == 1:
            rows, columns = (image(mode).size for mode in outer.modes)
            return rows, columns, along
    raise InputError(f"no mode of {outer} is contiguous")
