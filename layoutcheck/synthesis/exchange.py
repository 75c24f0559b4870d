"""From one thread-value layout to another through shared memory: the layout of the tile that suits both.

The writer's registers and the reader's are given; only shared memory is free. Where everything is a power of
two, an element's number is a string of bits, and each layout says which bits are values of a thread and which
are lanes. A layout of the tile is an order of these bits:

- first bits that are values on both sides: one vector; then, in some candidates, values of one side
- then the bits of the lanes that are served together (`machine.banks`), of the writer or of the reader: they
  choose banks
- then the other side's, which a pointer swizzle XORs onto the first: each side's lanes lie in different banks
- then the rest

All such candidates are counted, with the plain layouts and swizzles of `shared.layouts`, and the quickest is
taken. For other extents there are the latter alone. A thread's registers may be taken in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.algebra.image import image
from layoutcheck.algebra.inttuple import product as size_of
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import make_layout
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.machine import banks
from layoutcheck.machine.arch import WARP
from layoutcheck.machine.banks import LOAD, OFF, STORE, IntArray
from layoutcheck.machine.best_swizzle import BANK_SPAN_BYTES
from layoutcheck.machine.cost import Counts, predicted_time
from layoutcheck.machine.dtypes import DType
from layoutcheck.machine.dtypes import dtype as read_dtype
from layoutcheck.synthesis.exchange_code import statements
from layoutcheck.synthesis.shared import BASE_ALIGN, MOST_PATTERN_BYTES, layouts

MOST_PERIOD_BYTES = 2 * MOST_PATTERN_BYTES
"""Of a swizzle: a tile at an odd multiple of 1024 bytes XORs a constant onto all, which parts no banks."""
WIDTHS_BITS = (128, 64, 32, 16, 8)


class Side(NamedTuple):
    """One side: its registers `tv`, and accesses of `width_bits`, `wavefronts` of which `ideal` would do."""

    tv: Layout
    width_bits: int
    instructions: int
    wavefronts: int
    ideal: int


class Exchange(NamedTuple):
    """The best layout of the tile of `element`s, its pointer's swizzle, and both sides' costs.

    `layout` has the tile's modes; `swizzle` acts on byte addresses, None for none; `tried` candidates were
    counted.
    """

    element: DType
    layout: Layout
    swizzle: Swizzle | None
    write: Side
    read: Side
    tried: int

    @property
    def code(self) -> str:
        """The tile's allocation and both copies: registers `held` go in, registers `given` come out.

        Raises InputError for a type that the DSL has no name for.
        """
        align = MOST_PATTERN_BYTES if self.swizzle is not None else BASE_ALIGN
        smem = Memref(self.element, "smem", self.layout, align, self.swizzle)
        return statements(smem, self.write, self.read)

    @property
    def cycles(self) -> float:
        """Predicted, of a block."""
        return _time(self.write, self.read)


def exchange(tile: Any, src_tv: Any, dst_tv: Any, dtype: Any = "bf16") -> Exchange:
    """The layout of a tile that is written from registers of `src_tv` and read into those of `dst_tv`.

    Both are layouts (thread, value) -> index into the tile, counted colexicographically, as text or `Layout`.
    Raises InputError where they do not reach every element of the tile, or reach past it.
    """
    extents = tuple(tile)
    if len(extents) != 2 or any(type(n) is not int or n < 1 for n in extents):
        raise InputError("a tile has two extents", expected="(MN,K), such as (128,64)")
    element = dtype if isinstance(dtype, DType) else read_dtype(str(dtype))
    if element.bits not in (4, 8, 16, 32, 64):
        raise InputError(f"elements of {element} are not exchanged", expected="4 to 64 bits")
    sides = [
        _Given(_read(given, name), extents, name) for given, name in ((src_tv, "src_tv"), (dst_tv, "dst_tv"))
    ]
    best: Exchange | None = None
    tried = 0
    for layout, swizzle in _candidates(sides, extents, element):
        costs = [
            _side(side, layout, swizzle, element.bits, op)
            for side, op in zip(sides, (STORE, LOAD), strict=True)
        ]
        tried += 1
        write, read = costs
        if write is None or read is None:
            continue
        if best is None or _time(write, read) < best.cycles:
            best = Exchange(element, layout, swizzle, write, read, tried)
    if best is None:
        raise InputError(f"no layout of the tile holds whole bytes of {element} for both sides")
    return best._replace(tried=tried)


def _time(write: Side, read: Side) -> float:
    counts = Counts(write.instructions + read.instructions, write.wavefronts + read.wavefronts, 0)
    return predicted_time(counts).cycles


def _read(given: Any, name: str) -> Layout:
    layout = parse_layout(given) if isinstance(given, str) else given
    if not isinstance(layout, Layout) or len(layout) != 2 or not layout.is_static:
        raise InputError(f"{name} is not a static layout (thread, value)", expected="((4,8),(2,2)):(...)")
    return layout


class _Given:
    """One side's registers: `index[value, thread]`, and what its bits are where all is a power of two."""

    def __init__(self, layout: Layout, extents: tuple[int, ...], name: str) -> None:
        threads, values = (int(size_of(mode.shape)) for mode in layout.modes)  # type: ignore[arg-type]
        size = extents[0] * extents[1]
        self.tv = layout
        self.index: IntArray = image(layout).reshape(values, threads)
        if self.index.min() < 0 or self.index.max() >= size or len(np.unique(self.index)) != size:
            raise InputError(f"{name} {layout} does not reach the {size} elements of the tile, all of them")
        linear = all(n & (n - 1) == 0 for n in (threads, values, *extents))
        self.lanes = _bits(self.index[0, : min(WARP, threads)]) if linear else None
        self.values = _bits(self.index[:, 0]) if linear else None


def _bits(index: IntArray) -> list[int] | None:
    """Which bit of the element each bit of the place toggles, -1 for none; None where it is not so."""
    found = []
    for n in range(len(index).bit_length() - 1):
        toggled = int(index[1 << n]) ^ int(index[0])
        if toggled & (toggled - 1):
            return None
        found.append(toggled.bit_length() - 1)
    return found


def _candidates(
    sides: Sequence[_Given], extents: tuple[int, ...], element: DType
) -> Iterator[tuple[Layout, Swizzle | None]]:
    writer, reader = sides
    if None not in (writer.lanes, writer.values, reader.lanes, reader.values):
        yield from _orders(writer, reader, extents, element.bits)
    if element.bits >= 8:
        for one in layouts((extents[0], extents[1]), element, (), None):
            yield one.layout, one.swizzle


def _orders(
    writer: _Given, reader: _Given, extents: tuple[int, ...], bits: int
) -> Iterator[tuple[Layout, Swizzle | None]]:
    """Orders of the element's bits, and the swizzle that goes with each."""
    assert writer.values and reader.values and writer.lanes and reader.lanes
    total = (extents[0] * extents[1]).bit_length() - 1
    most = (128 // bits).bit_length() - 1
    own = [[b for b in side.values or () if b >= 0] for side in (writer, reader)]
    common = [b for b in own[0] if b in own[1]]
    only = [[b for b in side if b not in common] for side in own]
    for count in range(min(most, len(common)), -1, -1):
        room = most - count
        for more in ([], *(side[:n] for side in only for n in range(1, min(room, len(side)) + 1))):
            vector = [*common[:count], *more]
            for first, second in ((writer, reader), (reader, writer)):
                yield from _banked(vector, first.lanes or [], second.lanes or [], total, extents, bits)


def _banked(
    vector: list[int], first: list[int], second: list[int], total: int, extents: tuple[int, ...], bits: int
) -> Iterator[tuple[Layout, Swizzle | None]]:
    """The vector's bits, then the first side's lanes in the banks, the second's above, XORed onto them."""
    left = [b for b in first if b >= 0 and b not in vector]
    right = [b for b in second if b >= 0 and b not in vector]
    span = (BANK_SPAN_BYTES * 8 // bits).bit_length() - 1 - len(vector)  # bits that choose a bank
    for lanes in range(min(span, len(left)), 0, -1):
        both = [b for b in left[:lanes] if b in right[:span]]
        mine = [b for b in left[:lanes] if b not in both]
        theirs = [b for b in right[:span] if b not in both and b not in mine]
        placed = [*vector, *both, *mine]
        filling = span - len(both) - len(mine)
        rest = [b for b in range(total) if b not in placed and b not in theirs]
        order = [*placed, *theirs[:filling], *rest[: max(0, filling - len(theirs))]]
        order += [b for b in (*theirs, *rest) if b not in order]
        layout = _of_order(order, extents)
        yield layout, None
        above = [b for b in theirs if order.index(b) >= len(vector) + span]
        many = min(len(above), len(mine))
        unit = (bits - 1).bit_length() - 3
        if many and unit + len(vector) + len(both) >= 0:
            base = unit + len(vector) + len(both)
            shift = order.index(above[0]) - len(vector) - len(both)
            if shift >= many and 1 << base + shift + many <= MOST_PERIOD_BYTES:
                yield layout, Swizzle(many, base, shift)


def _of_order(order: Sequence[int], extents: tuple[int, ...]) -> Layout:
    """The layout that places the element's bit `order[n]` at bit n of the offset."""
    place = {bit: n for n, bit in enumerate(order)}
    modes = []
    start = 0
    for extent in extents:
        count = extent.bit_length() - 1
        modes.append(
            coalesce(Layout((2,) * count, tuple(1 << place[start + n] for n in range(count))))
            if count
            else Layout(1, 0)
        )
        start += count
    return make_layout(*modes)


def _side(side: _Given, layout: Layout, swizzle: Swizzle | None, bits: int, op: str) -> Side | None:
    """The widest accesses that take whole runs of a thread's registers, counted; None for less than bytes."""
    offsets = image(layout)[side.index]
    values, threads = offsets.shape
    order = np.argsort(offsets[:, 0], kind="stable")
    offsets = offsets[order]
    granule = 16 if swizzle is None else min(16, swizzle.granule)
    for width in WIDTHS_BITS:
        each = width // bits
        if each == 0 or width // 8 > granule or values % each:
            continue
        runs = offsets.reshape(values // each, each, threads)
        steps = runs - runs[:, :1]
        if (steps == np.arange(each)[None, :, None]).all() and (runs[:, 0] * bits % width == 0).all():
            at = runs[:, 0] * bits // 8
            return _counted(side.tv, at if swizzle is None else swizzle(at), width, op)
    return None


def _counted(tv: Layout, at: IntArray, width: int, op: str) -> Side:
    rows, threads = at.shape
    warps = -(-threads // WARP)
    lanes = np.full((rows, warps * WARP), OFF, np.int64)
    lanes[:, :threads] = at
    found = banks.wavefronts(lanes.reshape(-1, WARP), width, op)
    return Side(tv, width, len(found.phases), int(found.wavefronts.sum()), int(found.phases.sum()))
