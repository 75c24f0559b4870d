"""`layoutcheck banks`: one shared-memory tile, all that is done to it, one table.

An access is written as its instruction and, where that does not say which thread takes what, its width and
the thread and value layouts of its tiled copy; several are separated by semicolons:

    ldmatrix.x4                              a warp walks the tile, 16-byte rows along the contiguous mode
    stmatrix.x2.trans
    cp.async 128 (16,8):(8,1) (1,8)          through L1; cp.async.cg goes past it and has no bank conflicts
    st 32 (32,4):(4,1) (1,2)                 ld and st likewise; also as ld.shared, r2s, or an atom of C++
    universal 128 (16,8):(8,1) (1,8)         read and written
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.image import image
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_layout, parse_swizzle
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.copies.tiled import make_tiled_copy_tv
from layoutcheck.digits import is_number
from layoutcheck.errors import InputError
from layoutcheck.findings import json_lines
from layoutcheck.formats import check_format
from layoutcheck.machine.arch import Arch, parse_arch
from layoutcheck.machine.banks import IntArray
from layoutcheck.machine.best_swizzle import SwizzleResult, best_swizzle
from layoutcheck.machine.canonical.modes import mode_of
from layoutcheck.machine.dtypes import dtype as read_dtype
from layoutcheck.machine.pointers import how_read, parse_tile
from layoutcheck.machine.tiles import (
    TileAccess,
    TileCost,
    analyse_tile,
    in_bytes,
    matrix_access,
    plane,
    vectors,
)
from layoutcheck.reports.style import Style, aligned
from layoutcheck.sources.atom_names import short_name

DEFAULT = "sm_90a"
MAX_TILE = 1 << 20
"""Elements of a tile; no GPU has 1 MiB of shared memory."""

_MATRIX = re.compile(r"(ld|st)matrix\.x([124])(\.trans)?\Z")
_OPS = ("ld", "st", "cp.async", "cp.async.cg")
_FIRST = {"ldmatrix": 75, "stmatrix": 90, "cp.async": 80}  # the first architecture that has it (PTX ISA)
_COPIES = {
    "s2r": ("ld",), "r2s": ("st",), "universal": ("ld", "st"), "autovec": ("ld", "st"), "auto": ("ld", "st"),
}  # fmt: skip
EXPECTED = "ldmatrix.x4, stmatrix.x2.trans, or with width and layouts: st.shared 128 (16,8):(8,1) (1,8)"


def analyse(
    layout: str, accesses: str, dtype: str = "bf16", swizzle: str | None = None, arch: str = "sm_90"
) -> tuple[list[TileCost], SwizzleResult]:
    """The table's rows as the tile is, and the best swizzle for them. Raises InputError for unusable text."""
    element = read_dtype(dtype)
    tile, pointer = parse_tile(layout, element.bits)
    pointer = pointer if swizzle is None else parse_swizzle(swizzle)
    outer = tile
    if isinstance(tile, ComposedLayout):
        if pointer is not None or not isinstance(tile.inner, Swizzle) or tile.offset != 0:
            raise InputError(f"{tile}: a tile has at most one swizzle, at offset 0")
        pointer, outer = in_bytes(tile.inner, element.bits), tile.outer
    assert isinstance(outer, Layout)
    if not (inttuple.is_static(outer.shape) and inttuple.is_static(outer.stride)):
        raise InputError(f"{outer} has run-time values", expected="the static layout of a tile")
    plane(outer)  # its errors are of the tile, and not of an access
    size = inttuple.product(outer.shape)
    assert isinstance(size, int)
    if size > MAX_TILE:
        raise InputError(f"a tile of {size} elements", expected=f"one of shared memory, at most {MAX_TILE}")
    read = read_accesses(accesses, outer, element.bits)
    for one in read:
        _must_have(parse_arch(arch), one.name)
    return analyse_tile(outer, element.bits, read, pointer), best_swizzle(outer, element.bits, read, arch)


def _must_have(arch: Arch, access: str) -> None:
    """Raise InputError for an instruction that the architecture does not have (PTX ISA)."""
    first = next((number for name, number in _FIRST.items() if access.startswith(name)), 0)
    if arch.number < first:
        raise InputError(f"{access} is not on {arch} (PTX ISA)", expected=f"--arch sm_{first} or later")


def read_accesses(text: str, tile: Layout, element_bits: int) -> list[TileAccess]:
    """The accesses of a semicolon-separated list. Raises InputError, placed in `text`."""
    found = []
    start = 0
    for part in text.split(";"):
        if part.strip():
            try:
                found += _read(part.strip(), tile, element_bits)
            except InputError as error:
                if error.text is not None:
                    raise
                raise InputError(
                    error.message, text=text, start=start, end=start + len(part), expected=error.expected
                ) from None
        start += len(part) + 1
    if not found:
        raise InputError("no access is given", text=text or " ", expected=EXPECTED)
    return found


def _read(text: str, tile: Layout, element_bits: int) -> list[TileAccess]:
    """The access; of a copy that does not say whether it reads or writes the tile, both."""
    first, *rest = text.split()
    name = short_name(first)
    matrix = _MATRIX.match(name)
    if matrix and not rest:
        return [matrix_access(tile, element_bits, int(matrix[2]), matrix[1] == "st", bool(matrix[3]))]
    plain, _, width = name.rpartition(".")
    if is_number(width) and len(rest) == 2:  # st.shared.v4.b32 says its own
        name, rest = plain, [width, *rest]
    ops = _COPIES.get(name, (name,))
    if any(op not in _OPS for op in ops) or len(rest) != 3 or not is_number(rest[0]) or len(rest[0]) > 4:
        raise InputError(f"cannot read the access '{text[:60]}'", expected=EXPECTED)
    index = _elements(tile, parse_layout(rest[1]), parse_layout(rest[2]))
    return [vectors(tile, element_bits, f"{op} {rest[0]} b", op, int(rest[0]), index) for op in ops]


def _elements(tile: Layout, thr: Layout, val: Layout) -> IntArray:
    """The tile's elements by (value, thread), the tiled copy repeated over the whole tile."""
    tiled = make_tiled_copy_tv(CpAsync(read_dtype("i8"), 32), thr, val)
    extents = [image(mode).size for mode in tile.modes]
    block = [image(mode).size for mode in tiled.tiler]
    if len(block) != len(extents) or any(e % b for e, b in zip(extents, block, strict=True)):
        raise InputError(f"the tiled copy covers {block}, which does not divide the tile's {extents}")
    threads, values = (image(mode).size for mode in tiled.layout_tv.modes)
    one = image(tiled.layout_tv).reshape(values, threads)
    index = np.zeros((1, values, threads), np.int64)
    scale = 1
    for extent, size in zip(extents, block, strict=True):
        steps = np.arange(0, extent, size)
        index = (index[None] + ((one % size)[None, None] + steps[:, None, None, None]) * scale).reshape(
            -1, values, threads
        )
        one, scale = one // size, scale * extent
    return index.reshape(-1, threads)


def read_as(layout: str, dtype: str, swizzle: str | None) -> str:
    """Which swizzle was read, in which unit; "" where there is none."""
    bits = read_dtype(dtype).bits
    tile, printed = parse_tile(layout, bits)
    said = how_read(tile, parse_swizzle(swizzle) if swizzle else printed, bits)
    inner = tile.inner if isinstance(tile, ComposedLayout) else None
    if isinstance(inner, Swizzle) and mode_of(in_bytes(inner, bits)) is None and mode_of(inner) is not None:
        said += f". The DSL's make_smem_layout_atom prints bytes in this form: then `swizzle` is {inner}"
    return said


def render(
    rows: Sequence[TileCost],
    best: SwizzleResult,
    format_: str = "text",
    read: str = "",
    arch: str = DEFAULT,
    style: Style = Style(),  # noqa: B008 (immutable)
) -> str:
    """The table, and what would be better. Raises InputError for a format other than text and json.

    `read` says how a swizzle was read (`read_as`), `arch` for which architecture was counted.
    """
    check_format("banks", format_)
    if format_ == "json":
        return json_lines([{**to_dict(rows, best), "read_as": read, "arch": arch}])
    table = [("access", "instructions", "wavefronts", "ideal", "ways")]
    table += [
        (row.name, str(row.instructions), str(row.wavefronts), str(row.ideal), str(row.ways)) for row in rows
    ]
    lines = aligned(table, right=range(1, 5))
    if max(map(len, lines)) > style.width:
        lines = [
            line
            for name, *cells in table[1:]
            for line in style.wrap(
                "{}: {} instructions, {} wavefronts, ideal {}, ways {}".format(name, *cells), "  ", ""
            )
        ]
    said = [f"read as {read}"] if read else []
    said += [_verdict(rows, best) + (f" ({arch})" if arch != DEFAULT else "")]
    return "\n".join([*lines, "", *(line for one in said for line in style.wrap(one))]) + "\n"


def _verdict(rows: Sequence[TileCost], best: SwizzleResult) -> str:
    now = sum(row.wavefronts for row in rows)
    if now == sum(row.ideal for row in rows):
        return "conflict-free"
    if best.wavefronts >= now:
        return f"nothing better: {best.optimality}"
    what = "the plain layout, without a swizzle,"
    if best.swizzle is not None:
        what = f"{best.swizzle} on the pointer (bytes), or {best.swizzle_elements} in a layout (elements),"
    elif best.padding:
        what = f"a padded pitch, {best.layout},"
    return f"{what} takes {best.wavefronts} wavefronts instead of {now}: {best.optimality}"


def to_dict(rows: Sequence[TileCost], best: SwizzleResult) -> dict[str, Any]:
    """The same as JSON has it."""
    return {
        "accesses": [
            {
                "access": row.name,
                "width_bits": row.width_bits,
                "instructions": row.instructions,
                "wavefronts": row.wavefronts,
                "ideal": row.ideal,
                "ways": row.ways,
            }
            for row in rows
        ],
        "best": {
            "layout": str(best.layout),
            "swizzle": None if best.swizzle is None else str(best.swizzle),
            "swizzle_elements": None if best.swizzle is None else str(best.swizzle_elements),
            "padding_elements": best.padding,
            "wavefronts": best.wavefronts,
            "conflict_free": best.conflict_free,
            "optimality": best.optimality,
        },
    }
