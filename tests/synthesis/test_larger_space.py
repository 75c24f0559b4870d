"""No dealing of lanes and no swizzle outside of the space takes fewer wavefronts, 16 bytes on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.machine import banks
from layoutcheck.machine.arch import WARP
from layoutcheck.machine.dtypes import dtype
from layoutcheck.synthesis.reading import read
from layoutcheck.synthesis.request import TileRequest
from layoutcheck.synthesis.search import Space, space_of
from layoutcheck.synthesis.shared import Shared
from layoutcheck.synthesis.threads import WIDEST_BYTES, Threads
from layoutcheck.synthesis.wanted import Wanted

REQUESTS = [
    ((64, 64), "bf16", "ldmatrix", "MN"),
    ((64, 64), "bf16", "ldmatrix.trans", "K"),
    ((128, 32), "bf16", "ldmatrix", "MN"),
    ((64, 256), "bf16", "ldmatrix", "MN"),
    ((64, 64), "f32", "ldmatrix", "MN"),
    ((128, 64), "f8E4M3FN", "ldmatrix", "MN"),
    ((64, 128), "f8E4M3FN", "ldmatrix", "MN"),
    ((256, 64), "f8E4M3FN", "ldmatrix", "MN"),
    ((128, 64), "bf16", "wgmma.A", "MN"),
    ((128, 64), "bf16", "wgmma.B", "K"),
    ((128, 128), "f8E4M3FN", "wgmma.A", "MN"),
]
"""Tiles of powers of two that lie in global memory along the other mode than in shared memory."""

Bits = list[tuple[int, int]]
"""For each bit of a lane's number the mode along which it steps, and by how many elements."""


def dealings(tile: tuple[int, int], block: int) -> Iterator[Bits]:
    """Every way to give 5 bits of a tile of blocks to lanes; the lowest 3 take turns, in any order."""
    every = [(mode, block << n) for mode in (0, 1) for n in range((tile[mode] // block).bit_length() - 1)]
    for low in itertools.combinations(every, 3):
        rest = [bit for bit in every if bit not in low]
        yield from ([*low, *high] for high in itertools.combinations(rest, 2))


def lanes(dealt: list[Bits], image: np.ndarray) -> np.ndarray:
    """Byte addresses at which the lanes' blocks begin, [dealing, lane]."""
    lane = np.arange(WARP)
    rows = []
    for bits in dealt:
        at = [np.zeros(WARP, int), np.zeros(WARP, int)]
        for n, (mode, step) in enumerate(bits):
            at[mode] += (lane >> n & 1) * step
        rows.append(image[at[0], at[1]])
    return np.array(rows)


def larger(space: Space) -> Iterator[Shared]:
    """The layouts of the space, and those without a swizzle under any that keeps 16 bytes together."""
    for one in space.layouts:
        yield one
        if one.swizzle is None and not one.padding and not one.kind:
            for bits, base, shift in itertools.product(range(1, 6), (4, 5), range(1, 9)):
                if shift >= bits:
                    yield one._replace(swizzle=Swizzle(bits, base, shift))


def of_the_space(wanted: Wanted, space: Space) -> int:
    """The fewest wavefronts of the space: stores of threads and what reads them, 16 bytes wide."""
    found = []
    for shared in space.layouts:
        written = [
            move.counts(shared).wavefronts
            for move in space.writers
            if isinstance(move, Threads) and move.fits(shared) and wide(move, shared)
        ]
        taken = [move.counts(shared).wavefronts for move in space.readers[0] if move.fits(shared)]
        if written and taken and shared.fast != (0 if wanted.src.layout.stride[0] == 1 else 1):
            found.append(min(written) + min(taken))
    return min(found)


def wide(move: Threads, shared: Shared) -> bool:
    return {move.width_bytes(move.deal.fast), move.width_bytes(shared.fast)} == {WIDEST_BYTES}


def of_any(wanted: Wanted, space: Space) -> int:
    """The fewest wavefronts of any dealing of lanes and any swizzle."""
    size, tile = wanted.element_bytes, wanted.tile
    block = WIDEST_BYTES // size
    each = tile[0] * tile[1] // block // WARP  # instructions of a side
    stride = wanted.probe(wanted.src).layout.stride
    row, column = np.arange(tile[0])[:, None], np.arange(tile[1])[None, :]
    dealt = list(dealings(tile, block))
    loaded = banks.wavefronts(lanes(dealt, (row * stride[0] + column * stride[1]) * size), 128, banks.LOAD)
    found = []
    for shared in larger(space):
        taken = [move.counts(shared).wavefronts for move in space.readers[0] if move.fits(shared)]
        if not taken or shared.granule < WIDEST_BYTES or shared.run * size % WIDEST_BYTES:
            continue
        if shared.fast == (0 if stride[0] == 1 else 1):
            continue
        stored = banks.wavefronts(lanes(dealt, shared.at(row + column * tile[0])), 128, banks.STORE)
        spent = (loaded.wavefronts + stored.wavefronts) * each
        found.append(int(spent.min()) + min(taken))
    return min(found)


@pytest.mark.sweep
@pytest.mark.parametrize(("tile", "name", "to", "fast"), REQUESTS)
def test_no_other_lanes_and_no_other_swizzle_take_fewer_wavefronts(
    tile: tuple[int, int], name: str, to: str, fast: str
) -> None:
    div = 128 // dtype(name).bits
    src = (
        f"(?{{div={div}}},?):(1,?{{div={div}}})" if fast == "MN" else f"(?,?{{div={div}}}):(?{{div={div}}},1)"
    )
    major = {"MN": "K", "K": "MN"}[fast] if to.startswith("wgmma") else None
    wanted = read(TileRequest(tile, src, to, dtype=name, major=major, engine="universal"))
    space = space_of(wanted)
    least = of_any(wanted, space)
    print(f"{tile} {name} to {to}: {least} wavefronts")
    assert of_the_space(wanted, space) == least
