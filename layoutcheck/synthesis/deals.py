"""How a tile is dealt to threads: blocks of `vector x block` elements, `along x across` threads.

A thread takes `vector` elements along the tile's mode `fast` and `block` along the other; threads lie `along`
the fast mode and `across` it, the first `first` of those along it with consecutive ids, then those across,
then
the rest. What the threads do not reach at once they take in further rounds, `rounds` of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from layoutcheck.algebra.layout import Layout
from layoutcheck.machine.arch import WARP
from layoutcheck.machine.banks import OFF, IntArray


def starts(begins: IntArray, lanes: IntArray) -> IntArray:
    """Each of `begins` added to all of `lanes`, [warp, 32], int64[len(begins) * warps, 32]; OFF stays."""
    return np.where(lanes < 0, OFF, begins[:, None, None] + lanes).reshape(-1, WARP)


@dataclass(frozen=True)
class Deal:
    """One deal; extents `tile`, in elements. `threads` of the block take part."""

    tile: tuple[int, int]
    fast: int
    vector: int
    block: int
    along: int
    across: int
    first: int

    @property
    def threads(self) -> int:
        """Threads that copy."""
        return self.along * self.across

    @property
    def rounds(self) -> int:
        """Blocks of each thread."""
        return math.prod(self.tile) // (self.vector * self.block * self.threads)

    @cached_property
    def steps(self) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
        """(extent, stride) of threads and rounds along the fast mode, and along the other, in elements."""
        reach, other = self.vector * self.along, self.block * self.across
        along = (
            (self.first, self.vector),
            (self.along // self.first, self.vector * self.first),
            (self.tile[self.fast] // reach, reach),
        )
        across = ((self.across, self.block), (self.tile[1 - self.fast] // other, other))
        return tuple(one for one in along if one[0] > 1), tuple(one for one in across if one[0] > 1)

    @cached_property
    def thr(self) -> Layout:
        """The thread layout, modes of the tile."""
        rest = self.along // self.first
        if rest == 1 or self.first == 1:
            step = 1 if rest == 1 else self.across
            along = (self.along, step if self.along > 1 else 0)
        else:
            along = ((self.first, rest), (1, self.first * self.across))
        across = (self.across, self.first if self.across > 1 else 0)
        modes = (along, across) if self.fast == 0 else (across, along)
        return Layout((modes[0][0], modes[1][0]), (modes[0][1], modes[1][1]))

    def val(self, order: int) -> Layout:
        """The value layout of a thread's block, its mode `order` first."""
        extents = (self.vector, self.block) if self.fast == 0 else (self.block, self.vector)
        strides = [0, 0]
        step = 1
        for mode in (order, 1 - order):
            strides[mode] = step if extents[mode] > 1 else 0
            step *= extents[mode]
        return Layout(extents, tuple(strides))

    def width(self, mode: int) -> int:
        """Elements of the thread's block along a mode of the tile: of one access along it."""
        return self.vector if mode == self.fast else self.block

    def accesses(self, mode: int) -> IntArray:
        """The elements at which accesses along `mode` start, int64[warp instruction, 32]; OFF for no lane."""
        return starts(self.begins(mode), self.lanes)

    def issued(self, mode: int) -> int:
        """Warp instructions of accesses along a mode."""
        return self.rounds * self.width(1 - mode) * -(-self.threads // WARP)

    @cached_property
    def lanes(self) -> IntArray:
        """The elements at which the threads' blocks start, int64[warp, 32], in the first round; OFF for none.

        Elements are counted colexicographically.
        """
        tid = np.arange(self.threads)
        low, middle = tid % self.first, tid // self.first
        along = low + self.first * (middle // self.across)
        place = {self.fast: along * self.vector, 1 - self.fast: middle % self.across * self.block}
        lanes = np.full(-(-self.threads // WARP) * WARP, OFF, np.int64)
        lanes[: self.threads] = place[0] + place[1] * self.tile[0]
        return lanes.reshape(-1, WARP)

    def begins(self, mode: int) -> IntArray:
        """What every access along a mode adds to `lanes`: the warp instructions of one warp, in order."""
        if mode not in self._begins:
            inner = np.arange(self.width(1 - mode))
            reach = {self.fast: self.along * self.vector, 1 - self.fast: self.across * self.block}
            rounds = {m: np.arange(0, self.tile[m], reach[m]) for m in (0, 1)}
            step = {0: 1, 1: self.tile[0]}
            self._begins[mode] = (
                (rounds[0] * step[0])[:, None, None]
                + (rounds[1] * step[1])[None, :, None]
                + (inner * step[1 - mode])[None, None, :]
            ).reshape(-1)
        return self._begins[mode]

    @cached_property
    def _begins(self) -> dict[int, IntArray]:
        return {}

    @property
    def simplicity(self) -> tuple[int, ...]:
        """Smaller is simpler: all of the fast mode first, few values in a block."""
        return int(self.first != self.along), self.block, -self.along


def deals(
    tile: tuple[int, int], fast: int, vector: int, block: int, threads: int, enough: int
) -> Iterator[Deal]:
    """Every deal of such blocks to as many of the threads as can divide the tile evenly.

    Where none of these has `enough` of them along a row, also whole rows: six lanes take 96 bytes, 16 each.
    """
    if tile[fast] % vector or tile[1 - fast] % block:
        return
    alongs, acrosses = _divisors(tile[fast] // vector), _divisors(tile[1 - fast] // block)
    pairs = [(a, b) for a in alongs for b in acrosses if a * b <= threads]
    most = max(a * b for a, b in pairs)
    full = [(a, b) for a, b in pairs if a * b == most]
    for along, across in full:
        firsts = _divisors(along) if across > 1 else [along]
        yield from (Deal(tile, fast, vector, block, along, across, first) for first in firsts)
    rows = max((pair for pair in pairs if pair[0] == alongs[-1]), default=None)
    if rows is not None and max(full)[0] < min(enough, alongs[-1]):
        yield Deal(tile, fast, vector, block, *rows, rows[0])


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]
