"""From one thread-value layout to another through shared memory: the layout of the tile that suits both.

The writer's registers and the reader's are given; only shared memory is free. Where everything is a power of
two, an element's number is a string of bits, and each layout says which bits are values of a thread and which
are lanes. A layout of the tile is an order of these bits:

- first bits that are values on both sides: one vector; then, in some candidates, values of one side
- then the bits of the lanes that are served together (`machine.banks`), of the writer or of the reader: they
  choose banks
- then the other side's, which a pointer swizzle XORs onto the first: each side's lanes lie in different banks
- then the rest

The first bits may also be those of a row of 8 x 8 matrices (`registers`), for `ldmatrix` and `stmatrix`.
All such candidates are counted, with the plain layouts and swizzles of `shared.layouts`, and the quickest is
taken. For other extents there are the latter alone. A thread's registers may be taken in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.algebra.image import image
from layoutcheck.algebra.inttuple import flatten, pair, product
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import make_layout
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.fixes.code import allocation_code, atom_code, dtype_code, folded, layout_code, tree_code
from layoutcheck.machine.arch import parse_arch
from layoutcheck.machine.best_swizzle import BANK_SPAN_BYTES
from layoutcheck.machine.cost import predicted_time
from layoutcheck.machine.dtypes import DType
from layoutcheck.machine.dtypes import dtype as read_dtype
from layoutcheck.synthesis.registers import Registers, Side
from layoutcheck.synthesis.shared import BASE_ALIGN, MOST_ALIGN_BYTES, layouts

LDMATRIX, STMATRIX = 75, 90
"""The architectures that have them first (PTX ISA)."""
MOST_PERIOD_BYTES = 2 * MOST_ALIGN_BYTES
"""Of a swizzle: a tile at an odd multiple of 1024 bytes XORs a constant onto all, which parts no banks."""


class Exchange(NamedTuple):
    """The best layout of the tile of `element`s, its pointer's swizzle, and both sides' costs.

    `layout` has the tile's modes; `swizzle` acts on byte addresses, None for none; it is one of `tried`.
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
        align = MOST_ALIGN_BYTES if self.swizzle is not None else BASE_ALIGN
        smem = Memref(self.element, "smem", self.layout, align, self.swizzle)
        return statements(smem, self.write, self.read)

    @property
    def cycles(self) -> float:
        """Predicted, of a block."""
        return predicted_time(self.write.counts + self.read.counts).cycles

    @property
    def rank(self) -> tuple[float, int]:
        """By time, then by loads: these are waited for, stores are not."""
        return self.cycles, self.read.instructions


def exchange(tile: Any, src_tv: Any, dst_tv: Any, dtype: Any = "bf16", *, arch: str = "sm_90a") -> Exchange:
    """The layout of a tile that is written from registers of `src_tv` and read into those of `dst_tv`.

    The quickest for both sides together, of equal ones that of fewer loads. Both are layouts (thread, value)
    -> index into the tile, counted colexicographically, as text or `Layout`. Raises InputError where they do
    not reach every element of the tile, or reach past it.
    """
    best: Exchange | None = None

    def may_win(write: Side) -> bool:
        return best is None or write.cycles <= best.cycles

    for one in ways(tile, src_tv, dst_tv, dtype, arch, may_win):
        if best is None or one.rank < best.rank:
            best = one
    if best is None:
        raise InputError(f"no layout of the tile holds whole bytes of {dtype} for both sides")
    return best


def ways(
    tile: Any, src_tv: Any, dst_tv: Any, dtype: Any, arch: str, asked: Callable[[Side], bool] = bool
) -> Iterator[Exchange]:
    """Every layout that holds whole bytes for both sides, and whose writer's side is `asked` for."""
    extents = pair(tile)
    if extents is None or min(extents) < 1:
        raise InputError("a tile has two extents", expected="(MN,K), such as (128,64)")
    element = read_dtype(dtype)
    if element.bits not in (4, 8, 16, 32, 64):
        raise InputError(f"elements of {element} are not exchanged", expected="4 to 64 bits")
    target = parse_arch(arch)
    writer = Registers(_read(src_tv, "src_tv"), extents, "src_tv", target.number >= STMATRIX)
    reader = Registers(_read(dst_tv, "dst_tv"), extents, "dst_tv", target.number >= LDMATRIX)
    candidates = dict.fromkeys(_candidates(writer, reader, extents, element))
    for layout, swizzle in candidates:
        write = writer.cost(layout, swizzle, element.bits, True)
        if write is None or not asked(write):
            continue
        read = reader.cost(layout, swizzle, element.bits, False)
        if read is not None:
            yield Exchange(element, layout, swizzle, write, read, len(candidates))


def _read(given: Any, name: str) -> Layout:
    layout = parse_layout(given) if isinstance(given, str) else given
    if not isinstance(layout, Layout) or len(layout) != 2 or not layout.is_static:
        raise InputError(f"{name} is not a static layout (thread, value)", expected="((4,8),(2,2)):(...)")
    return layout


def _candidates(
    writer: Registers, reader: Registers, extents: tuple[int, ...], element: DType
) -> Iterator[tuple[Layout, Swizzle | None]]:
    if writer.linear and reader.linear:
        yield from _orders(writer, reader, extents, element.bits)
    if element.bits >= 8:
        for one in layouts((extents[0], extents[1]), element, (), None):
            yield one.layout, one.swizzle


def _orders(
    writer: Registers, reader: Registers, extents: tuple[int, ...], bits: int
) -> Iterator[tuple[Layout, Swizzle | None]]:
    """Orders of the element's bits, and the swizzle that goes with each."""
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
    for side, other in ((writer, reader), (reader, writer)):
        for row, apart, _ in side.rows(bits):
            theirs = [*([another for held, another, _ in other.rows(bits) if held == row]), other.lanes or []]
            for lanes in theirs:
                yield from _banked(row, apart, lanes, total, extents, bits)
                yield from _banked(row, lanes, apart, total, extents, bits)


def _banked(
    vector: list[int], first: list[int], second: list[int], total: int, extents: tuple[int, ...], bits: int
) -> Iterator[tuple[Layout, Swizzle | None]]:
    """The vector's bits, then the first side's lanes in the banks, the second's above, XORed onto them."""
    left = [b for b in first if b >= 0 and b not in vector]
    right = [b for b in second if b >= 0 and b not in vector]
    span = (BANK_SPAN_BYTES * 8 // bits).bit_length() - 1 - len(vector)  # bits that choose a bank
    for lanes in range(min(span, len(left)), 0, -1) if left else (0,):
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


def statements(smem: Memref, write: Side, read: Side) -> str:
    """`held` are the writer's registers and `given` the reader's, both in their layouts' order of values.

    `tidx` is the thread. Where a side's values cannot be put in the order of shared memory by a layout, its
    copy is left to the reader of the code: the allocation stands alone.
    """
    first = [f"smem = {allocation_code(smem, layout_code(smem.layout))}"]
    into, out = _setup("write", write, smem), _setup("read", read, smem)
    if into is None or out is None:
        return folded("\n".join(first))
    kind = dtype_code(smem.dtype)
    moved = [
        f"held_packed = cute.make_rmem_tensor(write_smem.shape, {kind})",
        f"cute.basic_copy(cute.composition(cute.make_tensor(held.iterator, {layout_code(into.places)}), "
        "cute.make_layout(write_smem.shape)), held_packed)",
        "cute.copy(write_atom, held_packed, write_smem)",
        "cute.arch.sync_threads()",
        f"given_packed = cute.make_rmem_tensor(read_smem.shape, {kind})",
        "cute.copy(read_atom, read_smem, given_packed)",
        f"cute.basic_copy(cute.make_tensor(given_packed.iterator, {layout_code(out.packed)}), "
        f"cute.make_tensor(given.iterator, cute.make_layout({tree_code(out.packed.shape)})))",
    ]
    return folded("\n".join([*first, *into.lines, *out.lines, *moved]))


class _Setup(NamedTuple):
    """A side's tiled copy; the registers of its values in its order; its values in the registers' order."""

    lines: list[str]
    places: Layout
    packed: Layout


def _setup(name: str, side: Side, smem: Memref) -> _Setup | None:
    ordered = in_order(side, smem.layout)
    if ordered is None:
        return None
    values, places, packed = ordered
    thread = side.tv[0]
    split = layout_code(Layout((thread.shape, values.shape), (thread.stride, values.stride)))
    tile = tree_code(tuple(product(mode.shape) for mode in smem.layout.modes))
    part = "partition_D" if name == "write" else "partition_S"
    lines = [
        f"{name}_atom = {atom_code(_atom(side, smem))}",
        f"{name}_tiled = cute.make_tiled_copy({name}_atom, {split}, {tile})",
        f"{name}_smem = {name}_tiled.get_slice(tidx).{part}(smem)",
    ]
    return _Setup(lines, places, packed)


def _atom(side: Side, smem: Memref) -> Any:
    if not side.matrix:
        return UniversalCopy(smem.dtype, side.width_bits)
    kind = LdMatrix if side.matrix.startswith("ld") else StMatrix
    return kind(smem.dtype, side.width_bits // 32, side.matrix.endswith(".trans"))


def in_order(side: Side, layout: Layout) -> tuple[Layout, Layout, Layout] | None:
    """The values as an access takes them; the number of each in `tv`; and in `tv`'s order where each is.

    The first gives elements of the tile. Those come first that a matrix holds first, then those that are
    adjacent in shared memory; values that repeat others are left out. None where the values' modes have no
    such order.
    """
    shapes: Any = flatten(side.tv[1].shape)
    strides: Any = flatten(side.tv[1].stride)
    modes, place = [], 1  # (extent, stride in the tile, stride among the registers)
    for extent, stride in zip(shapes, strides, strict=True):
        parts = [2] * (extent.bit_length() - 1) if side.matrix else [extent]
        for part in parts:
            modes.append((part, stride, place))
            place, stride = place * part, stride * part
    offsets = image(layout)
    taken = [one for one in modes if one[0] > 1 and one[1]]
    taken.sort(key=lambda one: (_place(one[1], side.first), int(offsets[one[1]])))
    extents, elements, places = zip(*taken, strict=True) if taken else ((1,), (0,), (0,))
    values = _flat(extents, elements)
    if not side.matrix and not (np.diff(offsets[image(values)]) > 0).all():
        return None
    compact = dict(zip(places, np.cumprod([1, *extents[:-1]]).tolist(), strict=True))
    packed = [(extent, compact.get(at, 0) if stride else 0) for extent, stride, at in modes]
    return values, _flat(extents, places), _flat(*zip(*packed, strict=True))


def _place(stride: int, first: tuple[int, ...]) -> int:
    return first.index(stride) if stride in first else len(first)


def _flat(extents: tuple[int, ...], strides: tuple[int, ...]) -> Layout:
    return Layout(extents, strides) if len(extents) > 1 else Layout(extents[0], strides[0])
