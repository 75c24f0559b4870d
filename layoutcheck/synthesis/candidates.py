"""The moves that are considered for a request: the space of the search, and what it is in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from layoutcheck.algebra.integers import divisor
from layoutcheck.copies.memref import Memref
from layoutcheck.machine.arch import WARP
from layoutcheck.machine.banks import CP_ASYNC, LOAD, STORE
from layoutcheck.synthesis.deals import Deal, deals
from layoutcheck.synthesis.matrix import Matrix
from layoutcheck.synthesis.moves import Descriptor, Direct, Global, Move
from layoutcheck.synthesis.shared import Shared
from layoutcheck.synthesis.threads import WIDEST_BYTES, Threads
from layoutcheck.synthesis.tma import Tma
from layoutcheck.synthesis.wanted import LOADS_ONLY, Consumer, Wanted, fast_mode

ASYNC_BYTES = (16, 8, 4)
MOST_MATRICES = 4
"""Of ldmatrix and stmatrix (PTX ISA)."""
ROW_BYTES = 64
"""That an instruction should take of a row: what takes less is slow (docs/evidence/synthesis_pace.json)."""
MATRICES = ((2, 2), (4, 1), (1, 4), (2, 1), (1, 2), (1, 1))


def writers(wanted: Wanted) -> list[Move]:
    """The ways from the global tensor, or from accumulators, into shared memory."""
    if wanted.accumulator:
        both = Consumer("stmatrix"), Consumer("stmatrix.trans")
        return [move for consumer in both for move in _matrices(wanted, consumer)]
    found: list[Move] = []
    src, size = wanted.src, wanted.element_bytes
    fast = fast_mode(src)
    probe, copied = (Global(wanted.probe(src), op) for op in (LOAD, CP_ASYNC))
    widest = widest_bytes(wanted, src)
    if "tma" in wanted.engines and fast is not None and _tma(wanted, src):
        found.append(Tma(wanted.tile, size, fast, True, wanted.arch.number >= 100))
    asynchronous = "cp.async" in wanted.engines and wanted.arch.number >= 80 and src.dtype == wanted.dtype
    if asynchronous and fast is not None:
        for width in ASYNC_BYTES:
            if size <= width <= widest:
                found += [
                    Threads(deal, size, copied, True, True)
                    for deal in _dealt(wanted, fast, width // size, 1, size)
                ]
    if "universal" in wanted.engines:
        found += [
            Threads(deal, size, probe, True) for deal in _blocks(wanted, 0 if fast is None else fast, src)
        ]
    return found


def readers(wanted: Wanted, consumer: Consumer) -> list[Move]:
    """The ways out of shared memory that serve a consumer."""
    size = wanted.element_bytes
    if consumer.unit == "ldmatrix":
        return [*_matrices(wanted, consumer)]
    if consumer.unit in ("wgmma", "tcgen05"):
        return [Descriptor(consumer, math.prod(wanted.tile) * size)]
    if consumer.target == "registers":
        modes = (0, 1) if wanted.major is None else (wanted.major,)
        return [Threads(deal, size, None, False) for mode in modes for deal in _blocks(wanted, mode)]
    assert wanted.dst is not None
    found: list[Move] = []
    fast = fast_mode(wanted.dst)
    if "tma" in wanted.engines and _tma(wanted, wanted.dst) and fast is not None:
        found.append(Tma(wanted.tile, size, fast, False, wanted.arch.number >= 100))
    if "universal" in wanted.engines or LOADS_ONLY in wanted.engines:
        probe = Global(wanted.probe(wanted.dst), STORE)
        mode = 0 if fast is None else fast
        found += [Threads(deal, size, probe, False) for deal in _blocks(wanted, mode, wanted.dst)]
    return found


def direct(wanted: Wanted) -> list[Direct]:
    """The ways past shared memory, where there is one consumer and threads are allowed to load."""
    [first, *more] = wanted.consumers
    loaded = "universal" in wanted.engines and not wanted.accumulator
    if more or not loaded or first.target not in ("registers", "gmem"):
        return []
    src = wanted.src
    fast = fast_mode(src) or 0
    read = Global(wanted.probe(src), LOAD)
    if wanted.dst is None:
        return [
            Direct(deal, ((read, fast),))
            for deal in _blocks(wanted, fast, src)
            if wanted.major is None or deal.width(wanted.major) > 1 or wanted.tile[wanted.major] == 1
        ]
    out = fast_mode(wanted.dst) or 0
    write = Global(wanted.probe(wanted.dst), STORE)
    widest = widest_bytes(wanted, wanted.dst) // wanted.dst.element_bytes
    return [
        Direct(deal, ((read, fast), (write, out)))
        for deal in _blocks(wanted, fast, src)
        if (deal.block == 1 if out == fast else True) and deal.width(out) <= widest
    ]


def _blocks(wanted: Wanted, fast: int, outer: Memref | None = None) -> Iterator[Deal]:
    """Blocks of powers of two: along `fast` one access of the tile and of `outer`, across it 16 bytes."""
    size = wanted.element_bytes
    widest, far = WIDEST_BYTES // size, size
    if outer is not None:
        widest, far = min(widest, widest_bytes(wanted, outer) // outer.element_bytes), outer.element_bytes
    for vector in _powers(widest):
        for block in _powers(WIDEST_BYTES // size):
            yield from _dealt(wanted, fast, vector, block, far)


def _dealt(wanted: Wanted, fast: int, vector: int, block: int, size: int) -> Iterator[Deal]:
    """Deals of accesses of `vector` elements of `size` bytes."""
    enough = max(1, ROW_BYTES // (vector * size))
    return deals(wanted.tile, fast, vector, block, wanted.threads, enough)


def _powers(most: int) -> list[int]:
    return [1 << n for n in reversed(range(most.bit_length()))]


def as_wide(move: Move, shared: Shared | None, wanted: Wanted) -> bool:
    """Whether a move's accesses are as wide as alignment and tile allow: no other is wider on any side."""
    if isinstance(move, Matrix):
        return math.prod(move.matrices) == MOST_MATRICES
    if not isinstance(move, (Threads, Direct)):
        return True
    deal, size = move.deal, wanted.element_bytes
    into = isinstance(move, Direct) or move.into
    tensors = {"src": wanted.src} if into else {}
    if wanted.dst is not None and (isinstance(move, Direct) or not move.into):
        tensors["dst"] = wanted.dst
    sides: dict[int, int] = {}
    for tensor in tensors.values() if isinstance(move, Direct) or move.outer is not None else ():
        mode = deal.fast if isinstance(move, Threads) else fast_mode(tensor) or 0
        most = widest_bytes(wanted, tensor) // tensor.element_bytes
        sides[mode] = min(sides.get(mode, most), most)
    if shared is not None:
        most = WIDEST_BYTES // size
        sides[shared.fast] = min(sides.get(shared.fast, most), most)
    return all(deal.width(mode) == math.gcd(most, wanted.tile[mode]) for mode, most in sides.items())


def widest_bytes(wanted: Wanted, tensor: Memref) -> int:
    """Bytes of the widest access that is proved to be aligned, along the contiguous mode."""
    size = tensor.element_bytes
    fast = fast_mode(tensor)
    if fast is None:
        return size
    known = proved_bytes(tensor, fast, wanted.tails)
    return max(size, known & -known)


def proved_bytes(tensor: Memref, fast: int, tails: bool) -> int:
    """What base and pitch are multiples of, 16 bytes at most; with `tails` the extent along `fast` too.

    An access lies inside of a tensor as a whole, or outside.
    """
    known = _aligned(tensor, fast)
    return math.gcd(known, divisor(tensor.layout.shape[fast]) * tensor.element_bytes) if tails else known


def _aligned(tensor: Memref, fast: int) -> int:
    """Bytes, 16 at most, that base and pitch are multiples of."""
    pitch: int = divisor(tensor.layout.stride[1 - fast]) * tensor.element_bytes
    return math.gcd(tensor.proved_align_bytes, pitch, WIDEST_BYTES)


def _tma(wanted: Wanted, tensor: Memref) -> bool:
    """Whether a tensor map can be made of it: base and pitch of 16 bytes (cuTensorMapEncodeTiled)."""
    fast = fast_mode(tensor)
    if wanted.arch.number < 90 or tensor.dtype != wanted.dtype or fast is None:
        return False
    return _aligned(tensor, fast) == WIDEST_BYTES


def _matrices(wanted: Wanted, consumer: Consumer) -> list[Matrix]:
    """Those by as many of the warps as can have whole matrices of the tile."""
    made = partial(Matrix, consumer, wanted.tile, wanted.element_bytes)
    for warps in range(wanted.threads // WARP, 0, -1):
        found = [
            move
            for matrices in MATRICES
            for down in range(1, warps + 1)
            if warps % down == 0
            for move in [made(matrices, (down, warps // down), consumer.unit)]
            if all(extent % reach == 0 for extent, reach in zip(move.extents, move.reach, strict=True))
        ]
        if found:
            return found
    return []
