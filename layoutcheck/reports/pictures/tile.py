"""A tiled copy's thread-value layout: the tile's elements by coordinate, each with its thread and value.

Mode 0 runs down, the other modes run across. Sides whose threads hold different elements (ldmatrix and its
kin) are drawn one beside the other.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from layoutcheck.algebra.notation import print_tiler
from layoutcheck.copies.coverage import coverage, tile_elements
from layoutcheck.copies.offsets import IntArray
from layoutcheck.copies.tiled import TiledCopy, tile_shape
from layoutcheck.reports.pictures import svg
from layoutcheck.reports.pictures.memory import Map, joined
from layoutcheck.reports.pictures.panel import CELL_HIGH, SMALLEST, detail, label_rows, panel, window
from layoutcheck.reports.pictures.svg import WIDTH, Picture
from layoutcheck.reports.pictures.tv import NAMES

_GUTTER, _TOP = 34.0, 38.0
_HIGHEST = 620.0


def tile_picture(tiled: TiledCopy) -> Picture:
    """Who holds which element of the tile. Raises TooLarge for millions of elements."""
    sides = {side: tile_elements(tiled, side) for side in ("src", "dst")}
    same = np.array_equal(sides["src"], sides["dst"])
    shown = {"src": sides["src"]} if same else sides
    shape = tile_shape(tiled)
    maps = {side: tile_map(shape, named, side) for side, named in shown.items()}
    body: list[str] = []
    deepest = 0.0
    for i, (side, map_) in enumerate(maps.items()):
        x = _GUTTER + i * WIDTH / 2
        room = (WIDTH / 2 if len(maps) > 1 else WIDTH) - _GUTTER - 16
        label = "both sides" if same else NAMES[side]
        drawn, high = _side(map_, label, x, room)
        body += drawn
        deepest = max(deepest, high)
    words = _cover(tiled)
    return Picture(
        "tile",
        f"Thread-value layout of {tiled.atom.phrase}",
        f"TV {tiled.layout_tv} over {print_tiler(tiled.tiler)}: {shown['src'].shape[0]} threads, "
        f"{shown['src'].shape[1]} values each, a tile of {' x '.join(map(str, shape))}. Each colour is "
        f"a thread, and each cell shows thread and value. {words}",
        deepest,
        "".join(body),
        {"tile": " ".join(map(str, shape))},
    )


def tile_map(shape: tuple[int, ...], named: IntArray, side: str) -> Map:
    """The tile as a map whose offsets number its cells row by row: mode 0 down, the others across."""
    rows, columns = shape[0], math.prod(shape[1:])
    if len(shape) == 1:
        rows, columns = 1, shape[0]
    values = named.shape[1]
    index = named.reshape(-1)
    inside = np.flatnonzero((index >= 0) & (index < rows * columns))
    row, column = (index % rows, index // rows)
    runs = np.stack(
        (
            inside // values,
            inside % values,
            (row * columns + column)[inside],
            np.ones(inside.size, np.int64),
            np.zeros(inside.size, np.int64),
        ),
        axis=1,
    )
    starts = np.arange(rows, dtype=np.int64) * columns
    whole = np.array([(int(start), columns, 0) for start in starts], np.int64)
    # A gap between the rows' numbers: cells at the ends of two rows are no neighbours.
    return _apart(Map(side, "tile", False, columns, 1, 0, columns, starts, runs, whole))


def _apart(map_: Map) -> Map:
    wide = map_.pitch + 1
    runs = map_.runs.copy()
    runs[:, 2] = runs[:, 2] // map_.pitch * wide + runs[:, 2] % map_.pitch
    asked = map_.asked.copy()
    asked[:, 0] = asked[:, 0] // map_.pitch * wide
    return replace(map_, pitch=wide, starts=map_.starts // map_.pitch * wide, runs=joined(runs), asked=asked)


def _side(map_: Map, label: str, x: float, room: float) -> tuple[list[str], float]:
    part = window(map_, (0, 0))
    whole = (part[2], part[3]) == (map_.rows, map_.columns)
    out = [svg.text(x, 11, label, "lc-p"), svg.text(x - 28, 22, "mode 1 \u2192  mode 0 \u2193", "lc-s lc-u")]
    y = _TOP
    if not whole:
        scale = max(min(room / map_.columns, _HIGHEST / map_.rows, 16.0), min(SMALLEST, room / map_.columns))
        out += label_rows(map_.labels(), scale, x, y)
        out.append(panel(map_, scale, x, y, f"tile, {label}"))
        out.append(svg.rect(x, y, part[3] * scale, part[2] * scale, "lc-window", data_side=map_.side))
        y += map_.rows * scale + 34
        out.append(svg.text(x, y - 17, f"the first {part[2]} x {part[3]}, enlarged", "lc-s lc-u"))
    out.append(detail(map_, part, x, y))
    return out, y + part[2] * CELL_HIGH + 8


def _cover(tiled: TiledCopy) -> str:
    found = coverage(tiled)
    if found.bijective:
        return "Every element belongs to exactly one thread and value."
    parts = [
        f"{count} {words}"
        for count, words in (
            (found.uncovered, "elements belong to no thread"),
            (found.shared, "belong to several threads"),
            (found.repeated, "to several values of one thread"),
            (found.outside, "thread values lie outside the tile"),
        )
        if count
    ]
    return f"{'; '.join(parts)}."
