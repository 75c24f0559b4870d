"""The space of a synthesis as its report states it, written a second time: layouts, deals, counts, the best.

It shares the time of a plan (`machine.cost`) and the packets of cp.async.cg with the search, and nothing
else: addresses are matrices, accesses are rows and columns, and the words of each bank are counted. Engines
cp.async and universal, to registers or ldmatrix.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.algebra.integers import divisor
from layoutcheck.machine.cost import Counts, predicted_time
from layoutcheck.machine.cp_async import bypass
from layoutcheck.synthesis.wanted import Wanted

MATRICES = ((2, 2), (4, 1), (1, 4), (2, 1), (1, 2), (1, 1))
Array = Any


class Laid(NamedTuple):
    """A layout: bytes of every element, [row, column]; runs along `fast`, `pitch` bytes apart."""

    fast: int
    run: int
    pitch: int
    at: Array
    size: int
    granule: int
    kind: str


class Dealt(NamedTuple):
    """Blocks of `vector` x `block` along and across `fast`, dealt to `along` x `across` threads."""

    fast: int
    vector: int
    block: int
    along: int
    across: int
    first: int

    def width(self, mode: int) -> int:
        return self.vector if mode == self.fast else self.block


def powers(most: int) -> list[int]:
    return [n for n in (1, 2, 4, 8, 16) if n <= most]


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def layouts(tile: tuple[int, int], size: int) -> Iterator[Laid]:
    """Either mode contiguous, in runs; plain, padded, swizzled, and rows dealt under S<3,4,3>."""
    row, column = np.arange(tile[0])[:, None], np.arange(tile[1])[None, :]
    total = tile[0] * tile[1] * size
    most = max(1024, 2048 // size)
    for fast in (0, 1):
        long, rows = tile[fast], tile[1 - fast]
        along, across = (row + 0 * column, 0 * row + column)[:: 1 if fast == 0 else -1]
        runs = {n // size for n in (16, 32, 64, 128) if n // size < long and long % (n // size) == 0}
        for run in {long} | runs:
            plain = (along % run + across * run + along // run * run * rows) * size
            yield Laid(fast, run, run * size, plain, rounded(total, 128), 16, "plain")
            for bits, base, shift in itertools.product(range(1, 6), range(2, 7), range(1, 9)):
                period = 1 << bits + base + shift
                inside = bits <= shift and base + bits <= 7 <= base + shift and period <= min(most, total)
                if inside and 1 << base >= max(4, size):
                    swizzled = plain ^ (plain >> shift & ((1 << bits) - 1 << base))
                    bytes_ = rounded(total, min(1024, max(128, period)))
                    yield Laid(fast, run, run * size, swizzled, bytes_, min(16, 1 << base), "swizzled")
            if run * size == 128 and rows % (16 // size) == 0:
                block = 16 // size
                apart = across % block * (rows // block) + across // block
                dealt = (along % run + apart * run + along // run * run * rows) * size
                swizzled = dealt ^ (dealt >> 3 & 7 << 4)
                yield Laid(fast, run, run * size, swizzled, rounded(total, 1024), 16, "swizzled")
        for pad in range(max(4, size), 129, max(4, size)):
            padded = along * size + across * (long * size + pad)
            bytes_ = rounded(int(padded.max()) + size, 128)
            yield Laid(fast, long, long * size + pad, padded, bytes_, 16, "padded")


def rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def deals(
    tile: tuple[int, int], fast: int, vector: int, block: int, threads: int, size: int
) -> Iterator[Dealt]:
    """To as many threads as divide the tile; the first of those along the fast mode have consecutive ids.

    Where these take less than 64 bytes of a row, whole rows to as many as divide it, of consecutive ids.
    """
    if tile[fast] % vector or tile[1 - fast] % block:
        return
    pairs = itertools.product(divisors(tile[fast] // vector), divisors(tile[1 - fast] // block))
    fitting = [(a, b) for a, b in pairs if a * b <= threads]
    most = max(a * b for a, b in fitting)
    for along, across in fitting:
        if along * across == most:
            for first in divisors(along) if across > 1 else [along]:
                yield Dealt(fast, vector, block, along, across, first)
    whole = tile[fast] // vector
    across = max((b for a, b in fitting if a == whole), default=0)
    longest = max(a for a, b in fitting if a * b == most)
    if across and longest < whole and longest * vector * size < 64:
        yield Dealt(fast, vector, block, whole, across, whole)


@lru_cache(maxsize=4096)
def accesses(tile: tuple[int, int], deal: Dealt, mode: int) -> tuple[Array, Array]:
    """Rows and columns at which accesses along `mode` begin, [instruction, lane]; -1 for no lane."""
    threads = deal.along * deal.across
    thread = np.arange(threads)
    along = thread % deal.first + deal.first * (thread // deal.first // deal.across)
    across = thread // deal.first % deal.across
    inner = range(deal.block if mode == deal.fast else deal.vector)
    found = []
    for far, wide in itertools.product(
        range(0, tile[deal.fast], deal.vector * deal.along),
        range(0, tile[1 - deal.fast], deal.block * deal.across),
    ):
        for step in inner:
            place = np.full((2, rounded(threads, 32)), -1)
            place[deal.fast, :threads] = far + along * deal.vector + (0 if mode == deal.fast else step)
            place[1 - deal.fast, :threads] = wide + across * deal.block + (step if mode == deal.fast else 0)
            found.append(place.reshape(2, -1, 32))
    rows, columns = np.concatenate(found, axis=1)
    return rows, columns


def wavefronts(addresses: Array, width: int, op: str) -> int:
    """The busiest bank of each phase; `op` is "ld", "st", "matrix" or "cp.async". A word counts once in a
    phase, but each time of cp.async."""
    phase = {8: 16, 16: 8}.get(width, 32)
    if op != "ld" or phase == 32:
        return in_phases(addresses, width, phase, op == "cp.async")
    lane = np.arange(32)
    others = np.stack([addresses[:, lane ^ apart] for apart in (1, 2)])
    one = ((addresses == others) | (addresses < 0) | (others < 0)).all(axis=2).any(axis=0)
    return sum(in_phases(addresses[one == twice], width, phase << twice, False) for twice in (0, 1))


def in_phases(addresses: Array, width: int, phase: int, again: bool) -> int:
    """The same, of instructions whose lanes go by so many at once."""
    at = addresses.reshape(-1, phase, 1)
    each = max(1, width // 4)
    words = np.where(at < 0, -1, at // 4 + np.arange(each)).reshape(len(at), phase * each)
    words.sort(axis=1)
    counted = words >= 0
    counted[:, 1:] &= again | (words[:, 1:] != words[:, :-1])
    place = np.arange(len(at))[:, None] * 32 + words % 32
    busy = np.bincount(place[counted], minlength=32 * len(at))
    return int(busy.reshape(-1, 32).max(axis=1).sum())


def composes(tile: tuple[int, int], deal: Dealt, laid: Laid) -> bool:
    """Whether CuTe composes the steps of threads and rounds with runs: one divides the other."""
    if deal.fast == laid.fast:
        reach = deal.vector * deal.along
        steps = [(deal.first, deal.vector), (deal.along // deal.first, deal.vector * deal.first)]
    else:
        reach = deal.block * deal.across
        steps = [(deal.across, deal.block)]
    return laid.run == tile[laid.fast] or all(
        together(extent, step, laid.run) for extent, step in [*steps, (tile[laid.fast] // reach, reach)]
    )


def together(extent: int, step: int, run: int) -> bool:
    if extent == 1 or step % run == 0:
        return True
    left = run // step
    return run % step == 0 and (left % extent == 0 or extent % left == 0)


class Best:
    """The best key of every kind: cycles, shared bytes, instructions."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted, self.tile, self.size = wanted, wanted.tile, wanted.element_bytes
        self.stride: Any = wanted.probe(wanted.src).layout.stride
        self.src = 0 if self.stride[0] == 1 else 1
        pitch = divisor(wanted.src.layout.stride[1 - self.src]) * self.size  # type: ignore[index]
        self.widest = max(self.size, math.gcd(16, pitch))
        self.found: dict[str, tuple[float, int, int]] = {}
        self.globals: dict[tuple[bool, Dealt], tuple[Array, tuple[int, ...]]] = {}

    def keep(self, kind: str, counts: tuple[int, ...], size: int) -> None:
        key = round(predicted_time(Counts(*counts)).cycles, 1), size, counts[0]
        self.found[kind] = min(key, self.found.get(kind, key))

    def blocks(self, fast: int, widest: int) -> list[Dealt]:
        pairs = itertools.product(powers(widest // self.size), powers(16 // self.size))
        return [one for v, b in pairs for one in deals(self.tile, fast, v, b, self.wanted.threads, self.size)]

    def loaded(self, deal: Dealt, asynchronous: bool) -> tuple[Array, tuple[int, ...]]:
        """Addresses, and counts of global memory."""
        key = asynchronous, deal
        if key not in self.globals:
            rows, columns = accesses(self.tile, deal, deal.fast)
            at = (rows * self.stride[0] + columns * self.stride[1]) * self.size
            at[rows < 0] = -1
            width = deal.vector * self.size
            each = [{byte // 32 for a in row if a >= 0 for byte in (a, a + width - 1)} for row in at.tolist()]
            every = set().union(*each)
            past = asynchronous and width == 16
            cached = 0 if past else wavefronts(at, width, "cp.async" if asynchronous else "ld")
            runs = sum(one - 1 not in every for one in every)
            self.globals[key] = at, (len(at), cached, sum(map(len, each)), len(every), runs, 0)
        return self.globals[key]

    def shared(self, deal: Dealt, laid: Laid) -> Array | None:
        """Addresses of accesses along the runs; None where they do not fit."""
        straight = deal.fast == laid.fast
        elements = deal.width(laid.fast)
        width = elements * self.size
        if (straight and deal.block > 1) or width > laid.granule or laid.run % elements or laid.pitch % width:
            return None
        if not composes(self.tile, deal, laid):
            return None
        rows, columns = accesses(self.tile, deal, laid.fast)
        return np.where(rows < 0, -1, laid.at[rows.clip(0), columns.clip(0)])

    def written(self, laid: Laid) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The ways into a layout."""
        for width in (16, 8, 4) if "cp.async" in self.wanted.engines and laid.fast == self.src else ():
            if not self.size <= width <= self.widest:
                continue
            for deal in deals(self.tile, self.src, width // self.size, 1, self.wanted.threads, self.size):
                to, (at, counts) = self.shared(deal, laid), self.loaded(deal, True)
                if to is not None and width == 16:
                    packets = [bypass(absent(a), absent(b)) for a, b in zip(to, at, strict=True)]
                    spent = sum(one.wavefronts for one in packets), sum(one.sectors for one in packets)
                    yield "cp.async", (counts[0], *spent, *counts[3:])
                elif to is not None:
                    yield "cp.async", (counts[0], counts[1] + wavefronts(to, width, "cp.async"), *counts[2:])
        for deal in self.blocks(self.src, self.widest) if "universal" in self.wanted.engines else ():
            to = self.shared(deal, laid)
            if to is not None:
                counts = self.loaded(deal, False)[1]
                stored = wavefronts(to, deal.width(laid.fast) * self.size, "st")
                yield "universal", (counts[0] + len(to), counts[1] + stored, *counts[2:])

    def read(self, laid: Laid) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The ways out of it."""
        [consumer] = self.wanted.consumers
        if consumer.unit == "ldmatrix":
            yield from self.matrices(laid, consumer.target.endswith(".trans"))
            return
        for mode in (0, 1) if self.wanted.major is None else (self.wanted.major,):
            for deal in self.blocks(mode, 16):
                at = self.shared(deal, laid)
                if at is not None:
                    spent = wavefronts(at, deal.width(laid.fast) * self.size, "ld")
                    yield "registers", (len(at), spent, 0, 0, 0, 0)

    def matrices(self, laid: Laid, trans: bool) -> Iterator[tuple[str, tuple[int, ...]]]:
        """By as many warps as can have whole matrices."""
        row = 16 // self.size
        for warps in range(self.wanted.threads // 32, 0, -1):
            shapes = [
                (8 * am * down, row * ak * (warps // down), am, ak)
                for am, ak in MATRICES
                for down in divisors(warps)
                if self.tile[0] % (8 * am * down) == 0 and self.tile[1] % (row * ak * (warps // down)) == 0
            ]
            if shapes:
                break
        else:
            return
        if laid.fast == trans or laid.granule < 16 or laid.run % row or laid.pitch % 16:
            return
        for *reach, am, ak in shapes:
            step = reach[laid.fast]
            if laid.run != self.tile[laid.fast] and not together(
                self.tile[laid.fast] // step, step, laid.run
            ):
                continue
            found = []
            for mn, k in itertools.product(range(0, self.tile[0], 8 * am), range(0, self.tile[1], row * ak)):
                lanes = [-1] * 32
                for lane in range(8 * am * ak):
                    matrix, n = divmod(lane, 8)
                    at_mn, at_k = mn + matrix % am * 8, k + matrix // am * row
                    lanes[lane] = laid.at[(at_mn, at_k + n) if trans else (at_mn + n, at_k)]
                found.append(lanes)
            yield "ldmatrix", (len(found), wavefronts(np.array(found), 16, "matrix"), 0, 0, 0, 0)

    def direct(self) -> None:
        """Past shared memory, into the registers of a thread."""
        for deal in self.blocks(self.src, self.widest):
            major = self.wanted.major
            if major is None or deal.width(major) > 1 or self.tile[major] == 1:
                self.keep("direct", self.loaded(deal, False)[1], 0)


def absent(row: Array) -> list[int | None]:
    return [None if at < 0 else int(at) for at in row]


def best(wanted: Wanted) -> dict[str, tuple[float, int, int]]:
    """The best of every kind of plan."""
    found = Best(wanted)
    most = wanted.arch.smem_per_block_bytes
    for laid in layouts(wanted.tile, wanted.element_bytes):
        size = laid.size * wanted.stages
        if size > most:
            continue
        written, taken = set(found.written(laid)), set(found.read(laid))
        for (engine, a), (reader, b) in itertools.product(written, taken):
            kind = f"{engine}, {('MN', 'K')[laid.fast]}-contiguous, {laid.kind}, {reader}"
            found.keep(kind, tuple(x + y for x, y in zip(a, b, strict=True)), size)
    if wanted.consumers[0].target == "registers" and "universal" in wanted.engines:
        found.direct()
    return found.found
