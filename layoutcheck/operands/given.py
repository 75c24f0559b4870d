"""What a user says of an operand, as coordinates: which element is in each register of each thread.

((4,8),(2,2,2)):((32,1),(16,8,128))      (thread, value) -> index into the MMA's tile, mode 0 fastest
!cute.tiled_copy<...>                    a tiled copy, whose `retile` shows it the fragment
make_tiled_copy_B, make_tiled_copy_A(OTHER)  the copy of this MMA, or of another one (code, type or name)
make_tiled_copy_tv(THR, VAL)             a copy of thread and value layouts
ldmatrix LAYOUT, ldmatrix.trans LAYOUT   from shared memory, modes (MN,K), by the MMA's own tiled copy
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.image import image
from layoutcheck.algebra.inverse import right_inverse
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_any_layout, parse_layout
from layoutcheck.algebra.recast import upcast
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.brackets import closing, split
from layoutcheck.copies.coverage import tile_elements
from layoutcheck.copies.offsets import offsets_at, size
from layoutcheck.copies.tiled import TiledCopy, make_tiled_copy_tv, tile_shape
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from layoutcheck.operands.fragments import Ints, TiledMma
from layoutcheck.operands.naming import read_mma
from layoutcheck.sources.types import parse_tiled_copy

EXPECTED = (
    "a thread-value layout, a printed tiled copy, make_tiled_copy_A/B/C, make_tiled_copy_tv(THR, VAL), "
    "or 'ldmatrix LAYOUT'"
)
_MADE = re.compile(r"(?:cute\.)?make_tiled_copy_([ABC])\b\s*(\()?")
_TV = re.compile(r"(?:cute\.)?make_tiled_copy_tv\s*\(")
_LDMATRIX = re.compile(r"ldmatrix(\.trans)?\s+(?=\S)")
_MOST = 1 << 20  # registers of all threads


class Unfit(InputError):
    """What was given can be read, and can never be the operand: other threads, or other numbers of values."""


@dataclass(frozen=True, slots=True)
class Held:
    """`elements`, (threads, registers, 2), are there; the MMA takes them for `taken`. `how` says in words."""

    elements: Ints
    taken: Ints
    how: str


def held(mma: TiledMma, letter: str, text: str) -> Held:
    """The registers of an operand. Raises InputError."""
    text = text.strip()
    if found := _LDMATRIX.match(text):
        return _loaded(mma, letter, text[found.end() :], bool(found[1]))
    if found := _MADE.match(text):
        inside = text[found.end() : closing(text, found.end() - 1) - 1].strip() if found[2] else ""
        other = read_mma(inside) if inside else mma
        made = f"make_tiled_copy_{found[1]}" + (f" of {other.atom.name}" if inside else "")
        return _copied(mma, letter, _made_by(other, found[1]), made)
    if found := _TV.match(text):
        parts = split(text[found.end() : closing(text, found.end() - 1) - 1])[-2:]
        if len(parts) != 2:
            raise InputError(
                "two layouts are needed", text=text[:200], start=found.end(), expected="THR, VAL"
            )
        tiled = make_tiled_copy_tv(
            UniversalCopy(dtype("i8"), 8), parse_layout(parts[0]), parse_layout(parts[1])
        )
        return _copied(mma, letter, _of(tiled, text), "make_tiled_copy_tv")
    if text.startswith(("!cute.tiled_copy", "cute.tiled_copy")):
        return _copied(mma, letter, _of(parse_tiled_copy(text), text), "the tiled copy")
    if text[:1] not in ("(", "S"):
        raise InputError(f"no registers of {letter}", text=text[:200], expected=EXPECTED)
    return _by_layout(mma, letter, parse_layout(text))


def _by_layout(mma: TiledMma, letter: str, layout: Layout) -> Held:
    if len(layout) != 2 or type(layout.shape) is not tuple or not layout.is_static:
        raise InputError(f"{layout} has no modes (thread, value)", expected="two static modes")
    threads, values = (size(mode) for mode in layout.modes)
    rows, columns = mma.extents(letter)
    taken = mma.taken(letter)
    if threads * values > 16 * len(taken) * taken.shape[1]:  # too many to look at each
        _alike(taken, threads, values)
    index = offsets_at(layout, np.arange(threads * values)).reshape(values, threads).T
    if int(index.max()) >= rows * columns or int(index.min()) < 0:
        raise InputError(
            f"{layout} leaves the MMA's tile of {letter}", expected=f"indices below {rows} x {columns}"
        )
    _alike(taken, threads, values)
    return Held(np.stack([index % rows, index // rows], 2), taken, "the thread-value layout")


def _alike(taken: Ints, threads: int, values: int) -> None:
    if threads != taken.shape[0]:
        raise Unfit(f"it is made for {threads} threads", expected=f"the {taken.shape[0]} of the MMA")
    if values != taken.shape[1]:
        raise Unfit(f"it has {values} values a thread for {taken.shape[1]} registers", expected="as many")


@dataclass(frozen=True, slots=True)
class _Copy:
    """(threads, values) indices into a tile of two modes, and the layout_tv that `retile` reads."""

    index: Ints
    tile: tuple[int, int]
    tv: Layout


def _made_by(mma: TiledMma, letter: str) -> _Copy:
    """`make_tiled_copy_A`, `_B` or `_C`."""
    taken, tile = mma.taken(letter), mma.extents(letter)
    return _Copy(taken[:, :, 0] + tile[0] * taken[:, :, 1], tile, mma.tv(letter))


def _of(tiled: TiledCopy, text: str) -> _Copy:
    shape = tile_shape(tiled)
    if len(shape) != 2 or any(mode.stride not in (0, 1) for mode in tiled.tiler):
        raise InputError("a tile of two modes, of adjacent elements, is needed", text=text[:200])
    return _Copy(tile_elements(tiled, "dst"), (shape[0], shape[1]), tiled.layout_tv)


def _copied(mma: TiledMma, letter: str, copy: _Copy, how: str) -> Held:
    """What a copy puts into the fragment that its `retile` shows it, over a tile that both divide."""
    tile = mma.extents(letter)
    whole = [math.lcm(x, y) for x, y in zip(tile, copy.tile, strict=True)]
    if len(copy.index) * whole[0] * whole[1] > _MOST:
        raise InputError(f"a common tile of {whole[0]} x {whole[1]}", expected="tiles that divide each other")
    repeat = (whole[0] // tile[0], whole[1] // tile[1])
    more = (whole[0] // copy.tile[0], whole[1] // copy.tile[1])
    taken = mma.taken(letter, repeat)
    shape = (*copy.index.shape, *more)
    rows = (copy.index % copy.tile[0])[:, :, None, None] + copy.tile[0] * np.arange(more[0])[:, None]
    columns = (copy.index // copy.tile[0])[:, :, None, None] + copy.tile[1] * np.arange(more[1])
    found = np.stack([np.broadcast_to(x, shape) for x in (rows, columns)], -1)
    _alike(taken, len(copy.index), copy.index.shape[1] * more[0] * more[1])
    first, second = mma.tiles(letter)
    fragment = (mma.values(letter), first * repeat[0], second * repeat[1])
    registers = retiled(copy.tv, copy.tile, fragment, more)
    elements = np.full_like(taken, -1)
    elements[:, registers.reshape(-1)] = found.reshape(len(copy.index), -1, 2)
    if (elements < 0).any():
        raise Unfit("its values do not fill the fragment", expected="a copy that does")
    return Held(elements, taken, how)


def retiled(tv: Layout, tile: tuple[int, int], fragment: tuple[int, int, int], more: tuple[int, int]) -> Ints:
    """(values, rest, rest) -> the register of each value of a tiled copy, as `retile` gives it.

    `fragment` is (values of one instruction, fragments along both modes). CuTe takes the first values of the
    copy for one instruction's, and the others for further instructions', in the order in which the copy's
    tile has them. Raises InputError where the values are no whole fragments.
    """
    own, down, _ = fragment
    threads, values = (size(mode) for mode in tv.modes)
    try:
        shaped = composition(right_inverse(tv), Layout(tile, (1, tile[0])), strict=False)
        blocks = upcast(shaped, threads * own)
        rows, columns = (size(mode) for mode in blocks.modes)
        order = offsets_at(right_inverse(blocks), np.arange(values // own))
    except InputError:
        order = np.zeros(0, np.int64)
    if own * len(order) != values or rows * more[0] != down or own * rows * columns != values:
        raise Unfit(
            "retile cannot show the fragment to this copy", expected="a copy whose values are whole fragments"
        )
    value = np.arange(values)
    block = order[value // own]
    first = (block % rows)[:, None, None] + rows * np.arange(more[0])[None, :, None]
    second = (block // rows)[:, None, None] + columns * np.arange(more[1])[None, None, :]
    return (value % own)[:, None, None] + own * (first + down * second)


def _loaded(mma: TiledMma, letter: str, text: str, trans: bool) -> Held:
    """What ldmatrix brings from a shared tile, by the MMA's own tiled copy: 8 rows of 16 bytes a matrix.

    PTX ISA, ldmatrix: row r of a matrix is the 16 bytes at lane r's address; lane 4 g + q gets the 32-bit
    word q of row g, with `.trans` the 16-bit elements g of rows 2 q and 2 q + 1. The tiled copy gives the
    addresses of what would be right if the row lay along K, with `.trans` along M or N.
    """
    if mma.atom.where(letter) != "registers" or letter == "C":
        raise InputError(
            f"ldmatrix brings no {letter} of {mma.atom.name}", expected="an operand in registers"
        )
    bits = mma.atom.types["AB".index(letter)].bits
    if trans and bits != 16:
        raise Unfit(
            f"ldmatrix.trans moves 16-bit elements, and {letter} has {bits}-bit ones: pairs of them would be "
            "transposed as one", expected="a tile that is contiguous along K, or LdMatrix16x16x8b (sm_100a)",
        )  # fmt: skip
    layout = parse_any_layout(text)
    outer = layout.outer if isinstance(layout, ComposedLayout) else layout
    if len(outer) < 2 or type(outer.shape) is not tuple or not outer.is_static:
        raise InputError(f"{layout} has no modes (MN,K)", expected="the shared tile, such as (64,32):(32,1)")
    shape = (size(outer.modes[0]), size(outer.modes[1]))
    tile, run = mma.extents(letter), 128 // bits
    if any(whole % part for whole, part in zip(shape, tile, strict=True)):
        raise InputError(
            f"a shared tile of {shape[0]} x {shape[1]}", expected=f"a multiple of {tile[0]} x {tile[1]}"
        )
    address = image(layout)[: shape[0] * shape[1]].reshape(shape[1], shape[0]).T
    there = np.full(int(address.max()) + run, -1, np.int64)
    there[address.reshape(-1)] = (np.arange(shape[0])[:, None] + shape[0] * np.arange(shape[1])).reshape(-1)
    taken = mma.taken(letter, (shape[0] // tile[0], shape[1] // tile[1]))
    m, k = taken[:, :, 0], taken[:, :, 1]
    start = address[m // run * run, k] if trans else address[m, k // run * run]
    found = there[start + (m if trans else k) % run]
    elements = np.stack([found % shape[0], found // shape[0]], 2)
    elements[found < 0] = -1
    if (start % run).any() and (elements == taken).all():
        thread, at = (int(i) for i in np.argwhere(start % run)[0])
        raise Unfit(
            f"a row of 16 bytes begins at element {int(start[thread, at])} of {layout}, which is "
            f"{int(start[thread, at]) * bits / 8:g} bytes",
            expected="rows that begin at multiples of 16 bytes (PTX ISA, ldmatrix)",
        )
    return Held(elements, taken, f"ldmatrix{'.trans' if trans else ''} of {layout}")
