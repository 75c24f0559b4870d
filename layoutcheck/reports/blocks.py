"""The pictures in a terminal: blocks of colour with the thread, value or offset in each.

What does not fit the width is not squeezed: a line says so, and that the SVG has it. Without colour the
letters alone tell the threads apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.analysis import Analysis
from layoutcheck.copies.coverage import tile_elements
from layoutcheck.copies.tiled import TiledCopy, tile_shape
from layoutcheck.reports.pictures.bank_map import waves
from layoutcheck.reports.pictures.grid import Cells
from layoutcheck.reports.pictures.memory import Map, memory_map
from layoutcheck.reports.pictures.panel import cells_of
from layoutcheck.reports.pictures.scene import SIDES, scene, vector
from layoutcheck.reports.pictures.strip import value_windows
from layoutcheck.reports.pictures.tile import tile_map
from layoutcheck.reports.pictures.tv import NAMES
from layoutcheck.reports.style import Style
from layoutcheck.rules.conflicts import bank_side, repaired_side

_HUES = (0x8FC7EE, 0xF5C067, 0x7FD1B4, 0xF3E87A, 0xE6A5C8, 0xB9C0C9, 0xF0A074, 0xA7B3F0)  # red, green, blue
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
_MOST_ROWS = 32
_MOST_LINES = 64  # of a block whose columns stand below each other
_ELSEWHERE = "draw it with --output FILE.svg"


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell, and whose colour it has (None: nobody's)."""

    label: str
    hue: int | None


@dataclass(frozen=True, slots=True)
class Block:
    """A grid of cells under a heading; `left` labels its rows, `first` is its first column's number."""

    heading: str
    left: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    total: int
    first: int = 0


def render(blocks: Sequence[Block], style: Style) -> str:
    """The blocks as text for a terminal `style.width` columns wide."""
    parts = (
        [style(line, "bold") for line in style.wrap(one.heading)] + [*_lines(one, style), ""]
        for one in blocks
    )
    return "".join(f"{line}\n" for part in parts for line in part)


def _lines(block: Block, style: Style) -> Iterator[str]:
    """The rows, in bands of columns if that makes few lines; else what fits, and how much does not."""
    margin = max((len(label) for label in block.left), default=0) + 1
    widest = max((len(cell.label) for row in block.cells for cell in row), default=1)
    columns = max((len(row) for row in block.cells), default=0)
    each, room = widest + 1, style.width - margin
    letters = columns * each - 1 > room and _lettered(block)
    if letters:
        each = 1
        if columns > room:
            yield f"  {columns} cells a row do not fit {style.width} columns:"
            yield f"  {_ELSEWHERE}"
            return
    fit = max(1, (room + (each > 1)) // each)
    bands = -(-columns // fit)
    if bands * len(block.cells) > _MOST_LINES:
        bands = 1
    band = min(fit, -(-columns // max(1, bands)))
    for start in range(0, bands * band, max(1, band)):
        if bands > 1:
            last = min(columns, start + band) - 1
            yield style(f"  columns {block.first + start} to {block.first + last}", "dim")
        for label, row in zip(block.left, block.cells, strict=True):
            cells = (_cell(cell, 0 if letters else widest, style) for cell in row[start : start + band])
            yield f"{label:>{margin - 1}} {('' if letters else ' ').join(cells)}"
    if letters and widest > 1:
        yield "  a letter for each number: 0 to 9, then a to z for 10 to 35"
    more = (columns - bands * band, "columns"), (block.total - len(block.cells), "rows")
    left = [f"{many} more {what}" for many, what in more if many > 0]
    if left:
        yield f"  {' and '.join(left)}:"
        yield f"  {_ELSEWHERE}"


def _cell(cell: Cell, width: int, style: Style) -> str:
    """A cell of that width, black on its hue; of no width, the letter of its number."""
    letter = "." if cell.hue is None else _LETTERS[cell.hue % len(_LETTERS)]
    text = cell.label.rjust(width) if width else letter
    return style.on(text, None if cell.hue is None else _HUES[cell.hue % len(_HUES)])


def _lettered(block: Block) -> bool:
    """Whether one letter says as much as the number of each cell."""
    letters = {str(n) for n in range(len(_LETTERS))}
    cells = (cell for row in block.cells for cell in row if cell.hue is not None)
    return all(cell.label == str(cell.hue) and cell.label in letters for cell in cells)


def layout_blocks(layout: Layout | ComposedLayout, tiled: TiledCopy | None = None) -> list[Block]:
    """A layout: every coordinate's offset, coloured by offset, or by the thread of `tiled`."""
    cells = Cells(layout, tiled)
    rows = range(min(cells.rows, _MOST_ROWS))
    columns = range(min(cells.columns, 1 + 1024))
    grid = tuple(
        tuple(Cell(cells.said(row, column), cells.hue(row, column)) for column in columns) for row in rows
    )
    left = tuple(map(str, rows))
    out = [Block(str(layout)[:200], left, grid, cells.rows)]
    if tiled is not None:
        threads = tuple(
            tuple(Cell("." if (t := cells.hue(row, column)) is None else str(t), t) for column in columns)
            for row in rows
        )
        out.append(Block("its threads", left, threads, cells.rows))
    return out


def tile_blocks(tiled: TiledCopy) -> list[Block]:
    """A tiled copy: the thread of every element of the tile."""
    sides = {side: tile_elements(tiled, side) for side in SIDES}
    same = bool((sides["src"].shape == sides["dst"].shape) and (sides["src"] == sides["dst"]).all())
    return [
        _map_block(
            tile_map(tile_shape(tiled), named, side), f"{'both sides' if same else NAMES[side]}: threads"
        )
        for side, named in sides.items()
        if side == "src" or not same
    ]


def copy_blocks(analysis: Analysis) -> list[Block]:
    """The pictures of a copy that a terminal can show: one instruction, both sides, the banks."""
    run = scene(analysis)
    if run is None:
        return []
    looked_at = vector(run)
    out = []
    verb = "moves" if run.reached else "would move"
    units = max(int((looked_at.moved[side] >= 0).sum()) for side in SIDES)
    span = max(1, min(units, 32))
    left: list[str] = []
    rows: list[tuple[Cell, ...]] = []
    for side in SIDES:
        for kind, values in (("asked", looked_at.asked[side]), (verb, looked_at.moved[side])):
            for start, cells in value_windows(run, side, values, span)[0]:
                left.append(f"{side} {kind} {start:+}")
                found = (cells.get(unit) for unit in range(span))
                rows.append(tuple(Cell("." if v is None else str(v), v) for v in found))
    heading = f"thread {looked_at.thread}, instruction {looked_at.instruction}, byte by byte"
    out.append(Block(heading, tuple(left), tuple(rows), len(rows)))
    kind, words = ("moved", f"that {verb}") if run.comparison.clean else ("asked", "whose view names")
    for side in SIDES:
        heading = f"{NAMES[side]}: the thread {words} each element"
        out.append(_map_block(memory_map(run, side, kind), heading))
    bank = bank_side(analysis)
    if bank is not None:
        better = repaired_side(analysis, bank)
        for name, shown in (("as it is", bank), *([better] if better else [])):
            found_waves = waves(shown, bank.worst)
            out.append(
                Block(
                    f"banks of the {NAMES[bank.side]}, {name}: lanes, {len(found_waves)} wavefronts",
                    tuple(f"phase {wave.phase}.{wave.wavefront}" for wave in found_waves[:_MOST_ROWS]),
                    tuple(
                        tuple(
                            Cell("." if lane < 0 else str(lane), None if lane < 0 else lane)
                            for lane in wave.lane
                        )
                        for wave in found_waves[:_MOST_ROWS]
                    ),
                    len(found_waves),
                )
            )
    return out


def _map_block(map_: Map, heading: str) -> Block:
    runs = map_.runs
    row, column, run = cells_of(map_, runs[:, 2], runs[:, 3], runs[:, 4])
    thread: dict[tuple[int, int], int] = {}
    for r, c, i in zip(row.tolist(), column.tolist(), run.tolist(), strict=True):
        if r < _MOST_ROWS:
            thread[r, c] = int(runs[i, 0])
    rows = range(min(map_.rows, _MOST_ROWS))
    cells = tuple(
        tuple(
            Cell("." if (t := thread.get((r, c))) is None else str(t), t)
            for c in range(min(map_.columns, 1 + 1024))
        )
        for r in rows
    )
    return Block(heading, tuple(map_.label(r) for r in rows), cells, map_.rows)
