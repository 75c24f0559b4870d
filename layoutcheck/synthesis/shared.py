"""The layouts of the tile in shared memory that are considered, simplest first.

One of the two modes is contiguous, in *runs*: the whole mode, or 16, 32, 64 or 128 bytes of it. The runs of
all rows follow each other, then those of the next columns. Rows are plain, padded, or swizzled:

- swizzles of the pointer that keep words whole, and XOR bits from 7 up onto bits below 7: lower bits as a
  source permute the banks and part no two. Up to bit 9, for bytes up to bit 10: lanes side by side have rows
  16 bytes' worth of elements apart, and runs of 16 bytes each. If the tile's address is not a multiple of the
  pattern, the same bits are flipped everywhere, which parts no banks and joins none
- rows may be *dealt* where runs are 128 bytes: every 8th, for 2-byte elements, one after the other, then
  the next ones. A thread's block of 16 bytes by 16 bytes has its rows far apart, and lanes side by side have
  theirs in consecutive runs, which S<3,4,3> sends to different banks
- padding by 4 to 128 bytes a run, in steps of 4 or of an element
- for wgmma and tcgen05 the canonical layouts of their descriptors (`machine.canonical`), and no others
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.image import image
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.measure import cosize
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.machine import f2
from layoutcheck.machine.banks import IntArray
from layoutcheck.machine.best_swizzle import BANK_SPAN_BYTES, candidates
from layoutcheck.machine.canonical import canonical
from layoutcheck.machine.canonical.described import atom_tile
from layoutcheck.machine.canonical.modes import MODES, UNIT_BITS
from layoutcheck.machine.dtypes import DType
from layoutcheck.synthesis.wanted import TURNED_BY_WGMMA, Consumer

MOST_ALIGN_BYTES = 1024
"""What `SmemAllocator` aligns to at most (measured)."""
RUN_BYTES = (128, 64, 32, 16)
VECTOR_BYTES = 16
_BANK_BITS = BANK_SPAN_BYTES.bit_length() - 1
BASE_ALIGN = 128
"""Bytes that a tile without a swizzle is aligned to: what TMA asks of shared memory."""


class _Fields(NamedTuple):
    layout: Layout
    element: DType
    fast: int
    run: int
    swizzle: Swizzle | None = None
    padding: int = 0
    kind: str = ""
    given_align: int = 0


class Shared(_Fields):
    """A layout of the tile: the mode `fast` is contiguous, in runs of `run` elements, padded by `padding`.

    `swizzle` acts on byte addresses; `kind` is a canonical layout's name, "" for others.
    `given_align` is what the address of a tile that is not ours is a multiple of, 0 for ours.
    """

    @cached_property
    def align(self) -> int:
        """What the tile's address is a multiple of."""
        if self.given_align:
            return self.given_align
        return (
            BASE_ALIGN
            if self.swizzle is None
            else max(BASE_ALIGN, min(MOST_ALIGN_BYTES, self.swizzle.period))
        )

    @cached_property
    def size(self) -> int:
        """Bytes of one stage, so that the next is aligned likewise."""
        end = int(cosize(self.layout)) * self.element.bits // 8  # type: ignore[arg-type]
        return -(-end // self.align) * self.align

    @cached_property
    def granule(self) -> int:
        """Bytes that stay together: the widest access."""
        return min(16, self.align & -self.align, self.swizzle.granule if self.swizzle else 16)

    @cached_property
    def widest(self) -> int:
        """Bytes of the widest access whose every place in the runs is aligned and stays together."""
        size = self.element.bits // 8
        return min(self.granule, math.gcd(self.run * size, (self.run + self.padding) * size, VECTOR_BYTES))

    @property
    def fitted(self) -> tuple[Any, ...]:
        """All that a move which does not read the swizzle can tell it by (`Move.fits`)."""
        return self.fast, self.widest, self.parted, self.kind

    @property
    def memref(self) -> Memref:
        """One stage as the compiler types it."""
        return Memref(self.element, "smem", self.layout, self.align, self.swizzle)

    @cached_property
    def plain(self) -> IntArray:
        """Byte addresses of all elements, colexicographic, before the swizzle."""
        return image(self.layout) * (self.element.bits // 8)

    @cached_property
    def parted(self) -> tuple[Layout | None, ...]:
        """The modes whose elements lie in several runs; None for those that are one."""
        return tuple(mode if isinstance(mode.shape, tuple) else None for mode in self.layout.modes)

    def composes(self, mode: int, steps: tuple[tuple[int, int], ...]) -> bool:
        """Whether a tiled copy of those (extent, stride) along a mode can partition it."""
        parted = self.parted[mode]
        return parted is None or all(_composes(parted, *step) for step in steps)

    @cached_property
    def columns(self) -> list[int] | None:
        """The same as a matrix over F2, where it is linear."""
        return f2.columns(self.layout, self.element.bits // 8)

    def at(self, index: IntArray) -> IntArray:
        """Byte addresses of elements; a negative index stays negative."""
        found = self.plain[index]
        if self.swizzle is not None:
            found = self.swizzle(found)
        return np.where(index < 0, -1, found)

    @property
    def simplicity(self) -> tuple[int, ...]:
        """Smaller is simpler: plain, then the standard swizzles, other swizzles, padding; long runs first."""
        s = self.swizzle
        what = 3 * bool(self.padding) if s is None else 1 if (s.base, s.shift) == (4, 3) else 2
        shape = sum(isinstance(mode.shape, tuple) for mode in self.layout.modes)
        return what, shape, *((s.bits, s.base, s.shift) if s else (0, 0, 0)), self.padding, -self.run

    def __str__(self) -> str:
        name = f"{self.kind} " if self.kind else ""
        tail = f" {self.swizzle}" if self.swizzle else f" padded by {self.padding}" if self.padding else ""
        return f"{name}{self.layout}{tail}"


@lru_cache(maxsize=1 << 14)
def _composes(mode: Layout, extent: int, stride: int) -> bool:
    try:
        composition(mode, Layout(extent, stride))
    except InputError:
        return False
    return True


def layouts(
    tile: tuple[int, int], element: DType, consumers: tuple[Consumer, ...], major: int | None
) -> list[Shared]:
    """All that are considered for these consumers, simplest first."""
    units = [one for one in consumers if one.unit in ("wgmma", "tcgen05")]
    if units:
        return _operands(tile, element, units, major)
    found = list(_free(tile, element))
    return sorted(found, key=lambda one: (one.size, one.simplicity))


def _operands(
    tile: tuple[int, int], element: DType, units: list[Consumer], major: int | None
) -> list[Shared]:
    """The canonical layouts that suit every descriptor that reads the tile."""
    first, *more = units
    return [one for one in _canonical(tile, element, first, major) if all(_suits(one, unit) for unit in more)]


def _canonical(tile: tuple[int, int], element: DType, unit: Consumer, major: int | None) -> Iterator[Shared]:
    mn, k = unit.modes
    for fast in (k, mn) if major is None else ((k, mn)[1 - major],):
        name = "K" if fast == k else "MN"
        for (bits, base, shift), mode in sorted(MODES.items(), reverse=True):
            if base != 4 and (unit.unit == "wgmma" or name == "K"):
                continue
            pointer = Swizzle(bits, base, shift)
            run = mode.units * UNIT_BITS // element.bits
            for made in _both_orders(atom_tile((tile[mn], tile[k]), element.bits, name, pointer)):
                layout = _swapped(made) if unit.turned else made
                shared = Shared(
                    layout, element, fast, run, pointer if bits else None, 0, f"{name}_{mode.name}"
                )
                if _suits(shared, unit):
                    yield shared


def _both_orders(made: Layout | None) -> Iterator[Layout]:
    """The atoms one after the other along MN first, and along K first."""
    if made is None:
        return
    yield made
    (_, count0), (_, count1) = made.shape
    (step0, far0), (step1, far1) = made.stride
    if count0 > 1 and count1 > 1:
        yield Layout(made.shape, ((step0, far0 * count1), (step1, far1 // count0)))


def _swapped(layout: Layout) -> Layout:
    return Layout((layout[1].shape, layout[0].shape), (layout[1].stride, layout[0].stride))


def _suits(shared: Shared, unit: Consumer) -> bool:
    """Whether the unit can read it, and its descriptor describe it."""
    layout = _swapped(shared.layout) if unit.turned else shared.layout
    name = "K" if shared.fast == unit.modes[1] else "MN"
    if name == "MN" and unit.unit == "wgmma" and shared.element.name not in TURNED_BY_WGMMA:
        return False
    return canonical(layout, shared.element, name, shared.swizzle, unit.unit).verdict == "legal"


def _free(tile: tuple[int, int], element: DType) -> Iterator[Shared]:
    size = element.bits // 8
    for fast in (0, 1):
        whole = tile[fast]
        runs = [
            whole,
            *(
                r // size
                for r in RUN_BYTES
                if r // size < whole and r % size == 0 and whole % (r // size) == 0
            ),
        ]
        for run in runs:
            plain = _rows(tile, fast, run, run)
            yield Shared(plain, element, fast, run)
            if run * size == BANK_SPAN_BYTES and tile[1 - fast] % (block := VECTOR_BYTES // size) == 0:
                dealt = _dealt(plain, fast, block)
                yield Shared(dealt, element, fast, run, Swizzle(3, 4, 3))
            most = pattern_bytes(size)
            for swizzle in candidates(max(4, size), most):
                inside = swizzle.period <= min(most, tile[0] * tile[1] * size)
                if inside and swizzle.base + swizzle.shift >= _BANK_BITS:
                    yield Shared(plain, element, fast, run, swizzle)
        step = max(4, size)
        for pad in range(step, BANK_SPAN_BYTES + 1, step):
            yield Shared(
                _rows(tile, fast, whole, whole + pad // size), element, fast, whole, None, pad // size
            )


def pattern_bytes(size: int) -> int:
    """The longest pattern of a swizzle for elements of `size` bytes."""
    return max(MOST_ALIGN_BYTES, BANK_SPAN_BYTES * VECTOR_BYTES // size)


def _dealt(plain: Layout, fast: int, block: int) -> Layout:
    """Rows 0, block, 2 block, ... one after the other, then rows 1, block + 1, ...

    So the `block` rows of a thread lie apart, and those of its neighbours side by side.
    """
    rows = plain[1 - fast]
    many = rows.shape // block
    apart = Layout((block, many), (rows.stride * many, rows.stride))
    modes = [plain[fast], apart] if fast == 0 else [apart, plain[fast]]
    return Layout((modes[0].shape, modes[1].shape), (modes[0].stride, modes[1].stride))


def _rows(tile: tuple[int, int], fast: int, run: int, pitch: int) -> Layout:
    """Runs of the contiguous mode, `pitch` elements from one row to the next."""
    long, rows = tile[fast], tile[1 - fast]
    along = (long, 1) if run == long else ((run, long // run), (1, rows * pitch))
    modes = [along, (rows, pitch)] if fast == 0 else [(rows, pitch), along]
    return Layout((modes[0][0], modes[1][0]), (modes[0][1], modes[1][1]))
