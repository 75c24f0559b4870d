"""The registers of one side of an exchange: which elements threads hold, and what it costs to move them.

A side moves its registers by vectors of up to 16 bytes, or as 8 x 8 matrices (`ldmatrix`, `stmatrix`), where
lanes and values lie as these instructions hold them: 32 bits of a row in each of four lanes (PTX ISA).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from layoutcheck.algebra.image import image
from layoutcheck.algebra.inttuple import flatten, product
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine import banks, f2
from layoutcheck.machine.arch import WARP
from layoutcheck.machine.banks import LOAD, MATRIX, OFF, STORE, IntArray
from layoutcheck.machine.best_swizzle import BANK_SPAN_BYTES
from layoutcheck.machine.cost import Counts, predicted_time

WIDTHS_BITS = (128, 64, 32, 16, 8)
ROW_BITS, ROWS = 128, 8
MATRIX_BITS = (8, 16, 32)


class Side(NamedTuple):
    """One side: its registers `tv`, and accesses of `width_bits`, `wavefronts` of which `ideal` would do.

    `matrix` is "ldmatrix", "stmatrix", either with ".trans", or "" for vectors; of matrices `width_bits` are
    those of a lane, 32 for each matrix of an instruction. `first` are the values of `tv`, by the strides of
    their modes, that an instruction holds first.
    """

    tv: Layout
    width_bits: int
    instructions: int
    wavefronts: int
    ideal: int
    matrix: str = ""
    first: tuple[int, ...] = ()

    @property
    def counts(self) -> Counts:
        """Warp instructions and wavefronts."""
        return Counts(self.instructions, self.wavefronts, 0)

    @property
    def cycles(self) -> float:
        """Predicted."""
        return predicted_time(self.counts).cycles


class Registers:
    """`index[value, thread]` are elements of the tile, values that repeat others left out.

    Where all is a power of two, `lanes` and `values` are the element's bits that the bits of a lane's and of
    a value's number toggle; -1 for none. None elsewhere.
    """

    def __init__(self, tv: Layout, extents: tuple[int, ...], name: str, matrices: bool) -> None:
        self.tv, self.matrices = tv, matrices
        threads, values = (int(product(mode.shape)) for mode in tv.modes)  # type: ignore[arg-type]
        size = extents[0] * extents[1]
        index: IntArray = image(tv).reshape(values, threads)
        if index.min() < 0 or index.max() >= size or len(np.unique(index)) != size:
            raise InputError(f"{name} {tv} does not reach the {size} elements of the tile, all of them")
        _, first = np.unique(index[:, 0], return_index=True)
        self.index = index[np.sort(first)]
        linear = all(n & (n - 1) == 0 for n in (threads, *self.index.shape, *extents))
        self.lanes = _bits(self.index[0, :WARP]) if linear else None
        self.values = _bits(self.index[:, 0]) if linear else None
        self._warps = -(-threads // WARP)
        self._adds = self.linear and bool(
            (self.index == self.index[:, :1] + self.index[:1]).all()
            and not (self.index[:, :1] & self.index[:1]).any()
        )
        """Whether values and threads toggle bits of their own."""
        self._toggling = [0, *(1 << n for n in range((threads - 1).bit_length()))]
        self._starts: dict[tuple[tuple[int, ...], tuple[int, ...]], IntArray] = {}

    @property
    def linear(self) -> bool:
        """Whether its bits are known."""
        return self.lanes is not None and self.values is not None

    def rows(self, bits: int) -> Iterator[tuple[list[int], list[int], bool]]:
        """Bits of the element that rows of matrices hold, those that tell rows apart, and whether `.trans`.

        Nothing where lanes and values do not lie as the instructions hold them.
        """
        lanes, values = self.lanes, self.values
        whole = self.matrices and self.index.shape[1] % WARP == 0
        if not whole or lanes is None or values is None or bits not in MATRIX_BITS:
            return
        found = self._rows(lanes, values, bits)
        yield from (one for one in found if -1 not in one[0] and len({*one[0]}) == len(one[0]))

    def _rows(
        self, lanes: list[int], values: list[int], bits: int
    ) -> Iterator[tuple[list[int], list[int], bool]]:
        inner = {8: 2, 16: 1, 32: 0}[bits]
        if len(values) < inner:
            return
        if bits == 32:
            yield lanes[:2], lanes[2:], False
        elif bits == 16:
            for one in values:
                yield [one, *lanes[:2]], lanes[2:], False
            for one in values:
                yield lanes[2:], [one, *lanes[:2]], True
        else:
            for one in values:
                yield from (([one, two, *lanes[:2]], lanes[2:], False) for two in values if two != one)

    def cost(self, layout: Layout, swizzle: Swizzle | None, bits: int, store: bool) -> Side | None:
        """The quickest way to or from a tile of that layout; None where no access is of whole bytes."""
        ways = (way(layout, swizzle, bits, store) for way in (self._vectors, self._matrices))
        return min(filter(None, ways), key=lambda one: one.cycles, default=None)

    def _vectors(self, layout: Layout, swizzle: Swizzle | None, bits: int, store: bool) -> Side | None:
        """The widest accesses that take whole runs of a thread's registers."""
        offsets = image(layout)
        order = np.argsort(offsets[self.index[:, 0]], kind="stable")
        adds = self._adds and all(n & (n - 1) == 0 for n in flatten(layout.shape))
        seen = offsets[self.index[:, self._toggling][order] if adds else self.index[order]]
        granule = 16 if swizzle is None else min(16, swizzle.granule)
        for width in WIDTHS_BITS:
            each = width // bits
            if each == 0 or width // 8 > granule or len(order) % each:
                continue
            firsts = seen[::each]
            adjacent = all((seen[n::each] - firsts == n).all() for n in range(1, each))
            if adjacent and (firsts * bits % width == 0).all():
                begins = self.index[order[::each], ::WARP].reshape(-1)
                times = np.ones(len(begins), np.int64)
                if adds and f2.columns(layout) is not None:
                    begins, times = begins[:1], np.array([len(begins)])
                elif adds and swizzle is None:
                    inside = offsets[begins] * bits // 8 % BANK_SPAN_BYTES
                    _, first, times = np.unique(inside, return_index=True, return_counts=True)
                    begins = begins[first]
                lanes = self._lanes_at(begins, order[::each], adds)
                at = np.where(lanes < 0, OFF, _swizzled(offsets[lanes] * bits // 8, swizzle))
                return Side(self.tv, width, *_spent(at, times, width, STORE if store else LOAD))
        return None

    def _lanes_at(self, begins: IntArray, values: IntArray, adds: bool) -> IntArray:
        """The elements of all lanes of the accesses that begin there, OFF for no lane: int64[access, 32]."""
        if adds:
            lanes = np.full(WARP, OFF, np.int64)
            lanes[: self.index.shape[1]] = self.index[0, :WARP]
            return np.where(lanes < 0, OFF, begins[:, None] + lanes)
        found = np.full((len(values), self._warps * WARP), OFF, np.int64)
        found[:, : self.index.shape[1]] = self.index[values]
        return found.reshape(-1, WARP)

    def _matrices(self, layout: Layout, swizzle: Swizzle | None, bits: int, store: bool) -> Side | None:
        """By `ldmatrix` or `stmatrix`, as many matrices at once as there are."""
        if swizzle is not None and swizzle.granule < ROW_BITS // 8:
            return None
        offsets, best = image(layout), None
        for row, apart, trans in self.rows(bits):
            if any(int(offsets[1 << bit]) != 1 << n for n, bit in enumerate(row)):
                continue
            at = offsets[self._row_starts(tuple(row), tuple(apart))] * bits
            if (at % ROW_BITS).any():
                continue
            lanes = np.full((len(at), WARP), OFF, np.int64)
            lanes[:, :ROWS] = _swizzled(at // 8, swizzle)
            _, spent, _ = _spent(lanes, np.ones(len(lanes), np.int64), ROW_BITS, MATRIX)
            each = len(at) // self._warps
            count = next(n for n in (4, 2, 1) if each % n == 0)
            name = ("stmatrix" if store else "ldmatrix") + (".trans" if trans else "")
            inner = [bit for bit in (*row, *apart) if bit in (self.values or ())]
            found = Side(
                self.tv, 32 * count, len(at) // count, spent, len(at), name, tuple(1 << bit for bit in inner)
            )
            if best is None or found.cycles < best.cycles:
                best = found
        return best

    def _row_starts(self, row: tuple[int, ...], apart: tuple[int, ...]) -> IntArray:
        """The elements at which the rows of every matrix start, [matrix, row]."""
        if (row, apart) not in self._starts:
            inside = sum(1 << bit for bit in (*row, *apart) if bit >= 0)
            held = (self.index.reshape(len(self.index), self._warps, WARP)[:, :, 0] & ~inside).T
            firsts = np.concatenate([np.unique(one) for one in held])
            steps = [
                sum(1 << bit for n, bit in enumerate(apart) if number >> n & 1 and bit >= 0)
                for number in range(ROWS)
            ]
            self._starts[row, apart] = firsts[:, None] + np.array(steps)[None, :]
        return self._starts[row, apart]


def _spent(lanes: IntArray, times: IntArray, width: int, op: str) -> tuple[int, int, int]:
    """The instructions int64[instruction, 32], each so many times, the wavefronts, and those that would do.

    To XOR one number onto all addresses of an instruction parts no banks and joins none, nor does moving
    them by whole lines: of such instructions one is counted.
    """
    on = lanes >= 0
    apart = np.where(on, lanes ^ lanes[:, :1], OFF)
    if on[:, 0].all() and (apart[1:] == apart[0]).all():
        count, (wavefronts, phases) = int(times.sum()), _of_one(apart[0].tobytes(), width, op)
        return count, count * wavefronts, count * phases
    spent = banks.wavefronts(lanes, width, op)
    return int(times.sum()), int(spent.wavefronts @ times), int(spent.phases @ times)


@lru_cache(maxsize=1 << 14)
def _of_one(lanes: bytes, width: int, op: str) -> tuple[int, int]:
    """Wavefronts and phases of one instruction."""
    spent = banks.wavefronts(np.frombuffer(lanes, np.int64)[None], width, op)
    return int(spent.wavefronts[0]), int(spent.phases[0])


def _swizzled(at: IntArray, swizzle: Swizzle | None) -> IntArray:
    return at if swizzle is None else swizzle(at)


def _bits(index: IntArray) -> list[int] | None:
    """Which bit of the element each bit of the place toggles, -1 for none; None where it is not so."""
    found = []
    for n in range(len(index).bit_length() - 1):
        toggled = int(index[1 << n]) ^ int(index[0])
        if toggled & (toggled - 1):
            return None
        found.append(toggled.bit_length() - 1)
    return found
