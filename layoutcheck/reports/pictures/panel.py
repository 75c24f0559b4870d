"""One side's memory as a panel: every cell in its thread's colour, or blocks of cells if too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.reports.pictures import svg
from layoutcheck.reports.pictures.memory import Map
from layoutcheck.reports.pictures.runs import encode
from layoutcheck.reports.pictures.scene import Scene, Vector, local

MAX_RUNS = 20_000  # of one side; beyond it (and below `SMALLEST` pixels a cell) cells are drawn in blocks
SMALLEST = 1.6
BLOCK = 8.0
GAP = 0.1  # of a cell, between two vectors


def panel(map_: Map, scale: float, x: float, y: float, label: str, **data: Any) -> str:
    """The whole side at `scale` user units a cell, its top left cell at (x, y); `data` are data-* of it."""
    blocks = scale < SMALLEST or len(map_.runs) > MAX_RUNS
    body = _blocks(map_, scale) if blocks else [*_ground(map_), *_threads(map_)]
    inner = svg.element("g", *body, transform=None if blocks else f"scale({svg.number(scale)})")
    names = "" if blocks else _names(map_, scale)
    size = (map_.columns * scale, map_.rows * scale)
    return framed(
        [inner, names], size, x, y, label, map_.starts.tolist(), side=map_.side, kind=map_.kind,
        private=int(map_.private), pitch=map_.pitch, cell=map_.cell, first=map_.first, columns=map_.columns,
        scale=scale, **data,
    )  # fmt: skip


def framed(
    body: Sequence[str], size: tuple[float, float], x: float, y: float, label: str, starts: Sequence[int],
    **data: Any,
) -> str:  # fmt: skip
    """A panel of this width and height, with its `data` and where its rows begin, which `page.js` reads."""
    return svg.element(
        "g",
        svg.element("rect", width=size[0], height=size[1], class_="lc-frame"),
        *body,
        class_="lc-panel",
        transform=svg.at(x, y),
        tabindex=0,
        role="img",
        aria_label=label,
        data_starts=encode([(0, start, 1) for start in starts]),
        **{f"data_{key}": value for key, value in data.items()},
    )


def _spans(map_: Map, offset: IntArray, units: IntArray, owner: IntArray) -> list[str]:
    """The strokes of runs: `M column row h cells`, a cell being 1 wide and high."""
    row, column = map_.place(offset, owner)
    wide = np.maximum(1, -(-units // map_.cell))
    return [
        f"M{c} {r}.5h{w - GAP:.4g}"
        for r, c, w in zip(row.tolist(), column.tolist(), wide.tolist(), strict=True)
    ]


def _ground(map_: Map) -> list[str]:
    """What the layouts name, under everything else."""
    asked = map_.asked
    spans = _spans(map_, asked[:, 0], asked[:, 1], asked[:, 2])
    runs = [(int(owner), int(offset), int(units)) for offset, units, owner in asked]
    return [svg.element("path", d="".join(spans), class_="lc-run lc-once", data_asked=encode(runs))]


def _threads(map_: Map) -> list[str]:
    """One path a thread, its runs in `data-runs`."""
    out = []
    moved = map_.runs
    spans = _spans(map_, moved[:, 2], moved[:, 3], moved[:, 4])
    order = np.argsort(moved[:, 0], kind="stable")
    edges = np.flatnonzero(np.append(True, np.diff(moved[order, 0]) != 0))
    for begin, end in zip(edges, np.append(edges[1:], len(order)), strict=True):
        mine = order[begin:end]
        thread = int(moved[mine[0], 0])
        out.append(
            svg.element(
                "path",
                d="".join(spans[i] for i in mine),
                class_=f"lc-run {svg.shade(thread)}",
                data_thread=thread,
                data_runs=encode([(int(k), int(o), int(n)) for _, k, o, n, _ in moved[mine]]),
            )
        )
    return out


def _names(map_: Map, scale: float) -> str:
    """The threads' names, where the patch of cells that a thread begins with has room for its name."""
    runs = map_.runs
    row, column, run = cells_of(map_, runs[:, 2], runs[:, 3], runs[:, 4])
    if len(row) > MAX_RUNS:
        return ""
    cells: dict[int, set[tuple[int, int]]] = {}
    for thread, r, c in zip(runs[run, 0].tolist(), row.tolist(), column.tolist(), strict=True):
        cells.setdefault(thread, set()).add((r, c))
    out = []
    touched = Counter(place for mine in cells.values() for place in mine)
    for thread, mine in cells.items():
        r, c = min(mine)
        if touched[r, c] > 1:  # several names in one place cannot be read
            continue
        wide = high = 1
        while (r, c + wide) in mine:
            wide += 1
        while all((r + high, k) in mine for k in range(c, c + wide)):
            high += 1
        if wide * scale >= 3 + 5.5 * len(f"T{thread}") and high * scale >= 10:
            at = ((c + wide / 2) * scale, (r + high / 2) * scale + 3)
            out.append(svg.text(*at, f"T{thread}", "lc-s lc-m", data_name=thread))
    return svg.element("g", *out, class_="lc-names") if out else ""


def cells_of(
    map_: Map, offset: IntArray, units: IntArray, owner: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """(row, column, index of the run) of every cell of the runs."""
    row, column = map_.place(offset, owner)
    wide = np.maximum(1, -(-units // map_.cell))
    index = np.repeat(np.arange(len(row)), wide)
    step = np.arange(len(index)) - np.repeat(np.cumsum(wide) - wide, wide)
    return row[index], column[index] + step, index


def _blocks(map_: Map, scale: float) -> list[str]:
    """Blocks of cells: how many are touched, and by which threads."""
    each = max(1, int(np.ceil(BLOCK / scale)))
    moved = map_.runs
    row, column, run = cells_of(map_, moved[:, 2], moved[:, 3], moved[:, 4])
    across = -(-map_.columns // each)
    block = row // each * across + column // each
    order = np.argsort(block, kind="stable")
    edges = np.flatnonzero(np.append(True, np.diff(block[order]) != 0))
    threads = moved[run[order], 0]
    low, high = np.minimum.reduceat(threads, edges), np.maximum.reduceat(threads, edges)
    cells = np.unique(row * map_.columns + column)  # a cell that several touch is one cell
    at = cells // map_.columns // each * across + cells % map_.columns // each
    count = np.unique(at, return_counts=True)[1]
    out = []
    for b, a, z, n in zip(
        block[order][edges].tolist(), low.tolist(), high.tolist(), count.tolist(), strict=True
    ):
        r, c = divmod(b, across)
        wide = min(each, map_.columns - c * each) * scale
        high = min(each, map_.rows - r * each) * scale
        box = (c * each * scale, r * each * scale, max(0.5, wide - 0.4), max(0.5, high - 0.4))
        data = {"data_block": f"{r} {c}", "data_threads": f"{a}-{z}", "data_cells": n}
        out.append(svg.rect(*box, f"lc-fill {svg.shade(a)}", **data))
    return [svg.element("g", *out, data_each=each)]


def places(map_: Map, scene: Scene, addresses: IntArray) -> list[tuple[int, int]]:
    """The (row, column) of every drawn cell that one of the addresses (absolute) lies in, sorted."""
    at = np.unique(addresses[addresses >= 0])
    owner, offset = local(scene, map_.side, at)
    row, column = map_.place(offset, owner)
    inside = (row < map_.rows) & (column >= 0) & (column < map_.columns)
    return sorted(set(zip(row[inside].tolist(), column[inside].tolist(), strict=True)))


def outline(
    map_: Map, scene: Scene, addresses: IntArray, scale: float, x: float, y: float, class_: str
) -> str:
    """Boxes around addresses (absolute): one around each run of cells that lie side by side."""
    return boxes(places(map_, scene, addresses), scale, scale, x, y, class_)


def boxes(places: Sequence[Sequence[int]], wide: float, high: float, x: float, y: float, class_: str) -> str:
    """Boxes around runs of (row, column) places, sorted."""
    runs: list[list[int]] = []
    for row, column in places:
        if runs and runs[-1][0] == row and runs[-1][1] + runs[-1][2] == column:
            runs[-1][2] += 1
        else:
            runs.append([row, column, 1])
    d = "".join(
        f"M{svg.number(x + c * wide)} {svg.number(y + r * high)}h{svg.number(n * wide)}v{svg.number(high)}"
        f"h{svg.number(-n * wide)}z"
        for r, c, n in runs
    )
    return svg.element("path", d=d, class_=class_) if d else ""


DETAIL_ROWS, DETAIL_COLUMNS = 12, 16
_MOST_NAMED = 16  # of those that touch one cell
CELL_WIDE, CELL_HIGH = 25.0, 23.0


def window(map_: Map, focus: tuple[int, int]) -> tuple[int, int, int, int]:
    """(row, column, rows, columns) of the part around a cell that is drawn in detail."""
    rows = map_.rows if map_.rows <= DETAIL_COLUMNS else DETAIL_ROWS
    columns = min(DETAIL_COLUMNS, map_.columns)
    row = max(0, min(focus[0] - rows // 4, map_.rows - rows)) if focus[0] >= rows else 0
    column = max(0, min(focus[1] - columns // 4, map_.columns - columns)) if focus[1] >= columns else 0
    return row, column, rows, columns


def label_rows(labels: Sequence[str], high: float, x: float, y: float) -> list[str]:
    """What rows of this height are called, at their left edge, as many as there is room for."""
    step = 1
    while step * high < 11:
        step *= 2
    below = y + min(high / 2 + 3, 9)
    return [
        svg.text(x - 5, below + i * high, labels[i], "lc-s lc-e lc-u") for i in range(0, len(labels), step)
    ]


def focus(map_: Map, scene: Scene, vector: Vector) -> tuple[int, int]:
    """The cell at which the vector's instruction begins on this side."""
    for at in (vector.moved[map_.side], vector.asked[map_.side]):
        known = at[at >= 0]
        if known.size:
            owner, offset = local(scene, map_.side, known[:1])
            row, column = map_.place(offset, owner)
            if 0 <= row[0] < map_.rows and 0 <= column[0] < map_.columns:
                return int(row[0]), int(column[0])
    return 0, 0


def detail(map_: Map, part: tuple[int, int, int, int], x: float, y: float) -> str:
    """Some rows and columns with every cell's thread, instruction and value written into it."""
    row0, column0, rows, columns = part
    moved = map_.runs
    row, column, run = cells_of(map_, moved[:, 2], moved[:, 3], moved[:, 4])
    here = (row >= row0) & (row < row0 + rows) & (column >= column0) & (column < column0 + columns)
    writers: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for r, c, i in zip(row[here].tolist(), column[here].tolist(), run[here].tolist(), strict=True):
        thread, instruction, offset = int(moved[i, 0]), int(moved[i, 1]), int(moved[i, 2])
        value = (map_.offset(r, c) - offset) // map_.cell
        value += _values_before(moved, i, map_.cell)
        writers.setdefault((r, c), []).append((thread, instruction, value))
    for many in writers.values():  # in the order in which the model runs them: the last one's bytes stay
        many.sort(key=lambda one: (one[1], one[0]))
    asked = map_.asked
    asked_row, asked_column, _ = cells_of(map_, asked[:, 0], asked[:, 1], asked[:, 2])
    named = set(zip(asked_row.tolist(), asked_column.tolist(), strict=True))
    out = label_rows(map_.labels(row0, rows), CELL_HIGH, 0, 0)
    for c in range(0, columns, 2 if columns > 8 else 1):
        at = map_.first + (column0 + c) * map_.cell
        out.append(svg.text((c + 0.5) * CELL_WIDE, -4, at, "lc-t lc-m lc-u"))
    for r in range(rows):
        for c in range(columns):
            key = (row0 + r, column0 + c)
            at_cell = (c * CELL_WIDE, r * CELL_HIGH)
            out.append(_detail_cell(map_, *key, writers.get(key, []), key in named, *at_cell))
    return svg.element(
        "g",
        *out,
        class_="lc-detail",
        transform=svg.at(x, y),
        data_side=map_.side,
        data_kind=map_.kind,
        data_part=" ".join(map(str, part)),
    )


def _values_before(moved: IntArray, run: int, cell: int) -> int:
    """Cells of the same instruction in the runs before this one (an instruction's runs follow each other)."""
    before = 0
    i = run - 1
    while i >= 0 and (moved[i, :2] == moved[run, :2]).all():
        before += int(moved[i, 3])
        i -= 1
    return before // cell


def _detail_cell(
    map_: Map, row: int, column: int, writers: list[tuple[int, int, int]], named: bool, x: float, y: float
) -> str:
    offset = map_.offset(row, column)
    owner = int(map_.starts[row]) if map_.private else 0
    class_ = f"lc-fill {svg.shade(writers[-1][0])}" if writers else "lc-cell"
    rect = svg.rect(
        x, y, CELL_WIDE - 1, CELL_HIGH - 1, class_,
        data_offset=offset, data_owner=owner, data_asked=int(named),
        data_by=" ".join(f"{t}:{k}.{v}" for t, k, v in writers[-_MOST_NAMED:]),
        data_more=len(writers) - _MOST_NAMED if len(writers) > _MOST_NAMED else None,
    )  # fmt: skip
    middle = x + (CELL_WIDE - 1) / 2
    if not writers:
        return rect + (svg.text(middle, y + CELL_HIGH / 2 + 3, "\u2205", "lc-s lc-m lc-b") if named else "")
    thread, instruction, value = writers[-1]
    below = f"{instruction}.{value}" if map_.kind == "moved" else f"v{instruction + value}"
    second = svg.text(middle, y + 19, below, "lc-t lc-m")
    if len(writers) > 1:
        second = svg.text(middle, y + 19, f"+{len(writers) - 1}", "lc-t lc-m lc-b")
    return rect + svg.text(middle, y + 10, f"T{thread}", "lc-s lc-m") + second
