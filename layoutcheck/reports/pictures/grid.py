"""A layout as a grid: every coordinate with its offset, coloured by offset, or by the thread that takes it.

Mode 0 runs down, the other modes run across (colexicographically). A large layout is drawn in blocks, each
with the offset of its first element, and its first corner is drawn again in full.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.layout import Layout, crd2idx, idx2crd, text
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.copies.coverage import tile_elements
from layoutcheck.copies.tiled import TiledCopy, tile_shape
from layoutcheck.digits import many
from layoutcheck.errors import InputError
from layoutcheck.reports.pictures import svg
from layoutcheck.reports.pictures.svg import WIDTH, Picture

_GUTTER, _TOP, _HIGH, _TALL = 36.0, 34.0, 20.0, 27.0
_ROWS, _MOST_WIDE = 64, 46.0  # rows drawn in full
_BLOCKS = 32  # along either side, of a layout too large to draw in full
_CORNER = (8, 16)
_LONGEST = 16  # characters of an offset

AnyLayout = Layout | ComposedLayout


def grid_picture(layout: AnyLayout, tiled: TiledCopy | None = None) -> Picture:
    """The layout, coloured by the threads of `tiled` if given. Raises InputError for run-time extents."""
    cells = Cells(layout, tiled)
    rows, columns = cells.rows, cells.columns
    wide = cells.wide(min(rows, _ROWS), columns)
    if rows <= _ROWS and columns * wide <= WIDTH - _GUTTER:
        body, y = cells.draw(rows, columns, 1, 1, _TOP, wide)
    else:
        wide = cells.wide(rows, columns)
        least = -(-columns // int((WIDTH - _GUTTER) / wide))
        step = (-(-rows // _BLOCKS), 1 << max(0, least - 1).bit_length())  # a power of two along the columns
        body, y = cells.draw(-(-rows // step[0]), -(-columns // step[1]), *step, _TOP, wide)
        corner = (min(rows, _CORNER[0]), min(columns, _CORNER[1]))
        body.append(svg.text(_GUTTER, y + 22, f"the first {corner[0]} x {corner[1]}, in full", "lc-s lc-u"))
        more, y = cells.draw(*corner, 1, 1, y + 48, cells.wide(*corner))
        body += more
    by = "thread" if tiled is not None else "offset"
    return Picture(
        "grid",
        f"Layout {_short(str(layout))}",
        f"{'' if cells.one else f'{rows} x '}{columns} coordinates. Each cell shows its offset"
        f"{' and thread' if tiled else ''}, and is coloured by {by}. "
        f"{'' if cells.one else 'Mode 0 runs down, the others run across.'}",
        y + 6,
        "".join(body),
        {"layout": _short(str(layout)), "rows": rows, "columns": columns},
    )


def _owners(tiled: TiledCopy, extents: list[Any]) -> Callable[[int, int], tuple[int, int] | None]:
    """Which (thread, value) takes a (row, column), the tile being repeated over the layout."""
    shape = tile_shape(tiled)
    if len(shape) > len(extents):
        raise InputError(f"the tile of {many(len(shape), 'mode')} is laid over a layout of {len(extents)}")
    named = tile_elements(tiled, "src")
    values = named.shape[1]
    index, first = np.unique(named.reshape(-1), return_index=True)

    def pair_of(wanted: int) -> int | None:
        at = int(np.searchsorted(index, wanted))
        return int(first[at]) if at < index.size and index[at] == wanted else None

    def owner(row: int, column: int) -> tuple[int, int] | None:
        crd = (column,) if len(extents) == 1 else (row, *inttuple.wrap(idx2crd(column, tuple(extents[1:]))))
        inside = tuple(c % n for c, n in zip(crd, shape, strict=False))
        pair = pair_of(crd2idx(inside, shape))
        return None if pair is None else divmod(pair, values)

    return owner


class Cells:
    """A layout's coordinates as rows and columns. Raises InputError for run-time extents."""

    def __init__(self, layout: AnyLayout, tiled: TiledCopy | None = None) -> None:
        outer = layout.outer if isinstance(layout, ComposedLayout) else layout
        products = [inttuple.product(mode.shape) for mode in outer.modes]
        extents = [extent for extent in products if isinstance(extent, int)]
        if len(extents) < len(products):
            raise InputError(
                f"{_short(str(layout))} has run-time extents: it cannot be drawn", expected="static extents"
            )
        self.layout, self.one = layout, len(extents) == 1
        self.rows = 1 if self.one else extents[0]
        self.columns = math.prod(extents) // self.rows
        self.owner = None if tiled is None else _owners(tiled, extents)

    def said(self, row: int, column: int) -> str:
        """The offset of a coordinate, in few letters."""
        return _said(self.offset(row, column))

    def hue(self, row: int, column: int) -> int | None:
        """The thread that takes it, where threads are known; else its offset."""
        if self.owner is not None:
            pair = self.owner(row, column)
            return None if pair is None else pair[0]
        offset = self.offset(row, column)
        return abs(offset) if isinstance(offset, int) else 0

    def offset(self, row: int, column: int) -> Any:
        """The offset of a coordinate: an integer, a run-time value or a coordinate."""
        coord = column if self.one else (row, *self._across(column))
        if isinstance(self.layout, Layout):
            return self.layout(coord)
        inner, at = self.layout.inner, self.layout.outer(coord)
        start = self.layout.offset[0] if type(self.layout.offset) is tuple else self.layout.offset
        if not isinstance(at, int) or not isinstance(start, int):
            raise InputError(f"{_short(str(self.layout))} has no single image: it cannot be drawn")
        return inner(at + start) if isinstance(inner, (Swizzle, Layout)) else at

    def _across(self, column: int) -> tuple[Any, ...]:
        outer = self.layout if isinstance(self.layout, Layout) else self.layout.outer
        shape = outer.shape[1:]
        return tuple(idx2crd(column, shape))

    def wide(self, rows: int, columns: int) -> float:
        """How wide a cell has to be for the longest of its offsets."""
        corners = [self.offset(r, c) for r in {0, rows - 1} for c in {0, columns - 1}]
        least = 40.0 if self.owner else 24.0
        return max(least, min(_MOST_WIDE * 2, 9 + 5.8 * max(len(_said(at)) for at in corners)))

    def draw(
        self, rows: int, columns: int, down: int, across: int, y: float, wide: float
    ) -> tuple[list[str], float]:
        """`rows` x `columns` cells, every `down`th row and `across`th column; and the y below them."""
        high = _TALL if self.owner else _HIGH
        each = 1 + int(5.4 * len(str(columns * across)) / wide)
        out = [
            svg.text(_GUTTER + (c + 0.5) * wide, y - 6, c * across, "lc-t lc-m lc-u")
            for c in range(0, columns, each)
        ]
        for r in range(rows):
            out.append(svg.text(_GUTTER - 6, y + high / 2 + 3, r * down, "lc-s lc-e lc-u"))
            out += [
                self._cell(r * down, c * across, down * across, _GUTTER + c * wide, y, wide, high)
                for c in range(columns)
            ]
            y += high
        return out, y

    def _cell(
        self, row: int, column: int, stands_for: int, x: float, y: float, wide: float, high: float
    ) -> str:
        offset = self.offset(row, column)
        pair = self.owner(row, column) if self.owner else None
        hue = pair[0] if pair else (offset if isinstance(offset, int) else 0)
        if stands_for > 1 and self.owner is None:
            hue = hue // max(1, stands_for)
        plain = self.owner is not None and pair is None
        rect = svg.rect(
            x, y, wide - 1, high - 1, "lc-cell" if plain else f"lc-fill {svg.shade(abs(hue))}",
            data_crd=str(column) if self.one else f"{row} {column}",
            data_offset=_said(offset),
            data_thread=pair[0] if pair else None,
            data_value=pair[1] if pair else None,
            data_cells=stands_for if stands_for > 1 else None,
        )  # fmt: skip
        said = _said(offset)
        fits = len(said) * 5.4 <= wide
        label = svg.text(x + wide / 2, y + 13, said, "lc-s lc-m") if fits else ""
        if pair:
            label += svg.text(x + wide / 2, y + 22, f"T{pair[0]} v{pair[1]}", "lc-t lc-m")
        return rect + label


def _said(offset: Any) -> str:
    shown = text(offset) if type(offset) is tuple else str(offset)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."


def _short(words: str) -> str:
    return words if len(words) <= 90 else words[:87] + "..."
