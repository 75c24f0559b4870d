"""Source and destination side by side, in memory order: the same thread in the same colour on both sides.

A row is a row of memory (of registers: a thread). Where the tile is large the whole is drawn small, and the
part around the instruction that the report is about is drawn again with every thread and value named.
"""

from __future__ import annotations

from layoutcheck.atoms.matrix import MatrixAtom
from layoutcheck.reports.pictures import svg
from layoutcheck.reports.pictures.memory import Map, axes, memory_map
from layoutcheck.reports.pictures.panel import (
    CELL_HIGH,
    CELL_WIDE,
    boxes,
    detail,
    focus,
    label_rows,
    outline,
    panel,
    places,
    window,
)
from layoutcheck.reports.pictures.scene import SIDES, Scene, Vector
from layoutcheck.reports.pictures.svg import WIDTH, Picture

_GUTTER, _HEAD, _BETWEEN = 52.0, 36.0, 26.0
_HIGHEST = 400.0
_BIGGEST, _LEAST = 22.0, 2.5
NAMES = {"src": "source", "dst": "destination"}


def tv_pictures(scene: Scene, vector: Vector) -> list[Picture]:
    """Who moves what; where the machine does something else, first who is asked to move what."""
    moved = _picture(scene, vector, "moved")
    return [moved] if scene.comparison.clean else [_picture(scene, vector, "asked"), moved]


def _picture(scene: Scene, vector: Vector, kind: str) -> Picture:
    """Both sides of a run, and the vector in them."""
    maps = {side: memory_map(scene, side, kind) for side in SIDES}
    x = {"src": _GUTTER, "dst": WIDTH / 2 + _GUTTER}
    body: list[str] = []
    y = 0.0
    small = any(_needs_detail(map_) for map_ in maps.values())
    if small:
        scales, at = _scales(maps)
        deepest = 0.0
        for side in SIDES:
            body.append(_overview(scene, maps[side], vector, scales[side], at[side]))
            deepest = max(deepest, maps[side].rows * scales[side])
        y = _HEAD + deepest + 28
    deepest = 0.0
    for side in SIDES:
        body.append(_detail(scene, maps[side], vector, x[side], y, small))
        rows = window(maps[side], focus(maps[side], scene, vector))[2]
        deepest = max(deepest, rows * CELL_HIGH)
    y += _HEAD + deepest + 18
    body.append(_legend(scene, vector, y))
    cells = (
        f"Each cell is {_cell_words(maps['src'], scene)}. Each colour is a thread, the same on both sides."
    )
    verb = "moves" if scene.reached else "would move if the compiler accepted it"
    if kind == "asked":
        heading, inside = (
            "What the layouts ask: whose view names which element",
            "thread and value of its view",
        )
    else:
        heading, inside = f"What the machine {verb}", "thread, instruction.value"
    if scene.comparison.clean:
        heading = "Who moves what, in memory order"
    return Picture(
        f"tv-{kind}",
        heading,
        f"{cells} A cell shows {inside}. +n: n more threads or instructions name it. \u2205: the layouts ask "
        f"for it, and no thread touches it.{_apart(scene)} Outlined: instruction {vector.instruction} "
        f"of thread {vector.thread}.",
        y + 12,
        "".join(body),
        {"thread": vector.thread, "instruction": vector.instruction, "reached": int(scene.reached)},
    )


def _apart(scene: Scene) -> str:
    """Why rows of shared memory lie so far from each other where only one lane's view is known."""
    if scene.copy.tiling is None and isinstance(scene.copy.atom, MatrixAtom):
        return " Only one lane's view is known: the other lanes' rows are assumed to lie far away."
    return ""


def _scales(maps: dict[str, Map]) -> tuple[dict[str, float], dict[str, float]]:
    """The size of a cell on each side, and where each side begins.

    An element is as large on both sides, unless one side's memory is so wide that the other would vanish.
    """
    room = WIDTH - 2 * _GUTTER - _BETWEEN
    columns, rows = ({side: getattr(maps[side], key) for side in SIDES} for key in ("columns", "rows"))
    same = min(room / sum(columns.values()), _HIGHEST / max(rows.values()), _BIGGEST)
    if same >= _LEAST:
        begin = 2 * _GUTTER + _BETWEEN + columns["src"] * same
        begin = max(begin, min(WIDTH / 2 + _GUTTER, WIDTH - columns["dst"] * same))
        return dict.fromkeys(SIDES, same), {"src": _GUTTER, "dst": begin}
    scales = {side: min(room / 2 / columns[side], _HIGHEST / rows[side], _BIGGEST) for side in SIDES}
    return scales, {"src": _GUTTER, "dst": WIDTH / 2 + _GUTTER}


def _needs_detail(map_: Map) -> bool:
    part = window(map_, (0, 0))
    return (part[2], part[3]) != (map_.rows, map_.columns)


def _cell_words(map_: Map, scene: Scene) -> str:
    bits = map_.cell * scene.unit_bits
    element = scene.memref(map_.side).dtype
    return f"one element ({element})" if bits == element.bits else f"{bits} bits"


def _overview(scene: Scene, map_: Map, vector: Vector, scale: float, x: float) -> str:
    """The whole side, small, with its offsets at the edge and the detail's window in it."""
    y = _HEAD
    out = [svg.text(x, 11, NAMES[map_.side], "lc-p"), _what(scene, map_, x, 24)]
    out += label_rows(map_.labels(), scale, x, y)
    data = {
        "space": scene.copy.side(map_.side).space,
        "origin": scene.origin(map_.side),
        "unit-bits": scene.unit_bits,
    }
    out.append(panel(map_, scale, x, y, f"memory of the {NAMES[map_.side]}", **data))
    out += _outlines(scene, map_, vector, scale, x, y)
    row, column, rows, columns = window(map_, focus(map_, scene, vector))
    box = (x + column * scale - 1, y + row * scale - 1, columns * scale + 2, rows * scale + 2)
    out.append(svg.rect(*box, "lc-window", data_side=map_.side))
    return "".join(out)


def _what(scene: Scene, map_: Map, x: float, y: float) -> str:
    memref = scene.memref(map_.side)
    swizzle = f" {memref.swizzle}" if memref.swizzle is not None else ""
    shown = f"{memref.space} {memref.dtype}{swizzle} {memref.layout}"
    return svg.text(x, y, shown if len(shown) <= 62 else shown[:59] + "...", "lc-u lc-s")


def _outlines(scene: Scene, map_: Map, vector: Vector, scale: float, x: float, y: float) -> list[str]:
    right = " lc-right" if vector.right else ""
    return [
        outline(map_, scene, vector.moved[map_.side], scale, x, y, f"lc-moved{right}"),
        "" if right else outline(map_, scene, vector.asked[map_.side], scale, x, y, "lc-asked"),
    ]


def _detail(scene: Scene, map_: Map, vector: Vector, x: float, y: float, zoomed: bool) -> str:
    part = window(map_, focus(map_, scene, vector))
    lines = axes(scene.memref(map_.side), map_)
    heading = f"{NAMES[map_.side]}{', enlarged' if zoomed else ''}"
    out = [svg.text(x, y + 11, heading, "lc-p")]
    if not zoomed:
        out.append(_what(scene, map_, x + 88, y + 11))
    if lines[0] or lines[1]:
        said = "   ".join(
            f"{name} {arrow}" for name, arrow in zip(reversed(lines), "\u2192\u2193", strict=True) if name
        )
        out.append(svg.text(x - 46, y + _HEAD - 16, said if not zoomed else "", "lc-s lc-u"))
        if zoomed:
            out.append(svg.text(x + 175, y + 11, said, "lc-s lc-u"))
    top = y + _HEAD
    out.append(detail(map_, part, x, top))
    marks = _detail_outlines(scene, map_, vector, part, x, top)
    out.append(svg.element("g", *marks, class_="lc-marks", data_side=map_.side))
    return "".join(out)


def _detail_outlines(
    scene: Scene, map_: Map, vector: Vector, part: tuple[int, int, int, int], x: float, y: float
) -> list[str]:
    row, column, rows, columns = part
    right = " lc-right" if vector.right else ""
    out = []
    for addresses, class_ in ((vector.moved, f"lc-moved{right}"), (vector.asked, "lc-asked")):
        if class_ == "lc-asked" and right:
            continue
        here = [
            (r - row, c - column)
            for r, c in places(map_, scene, addresses[map_.side])
            if row <= r < row + rows and column <= c < column + columns
        ]
        out.append(boxes(here, CELL_WIDE, CELL_HIGH, x - 0.5, y - 0.5, class_))
    return out


def _legend(scene: Scene, vector: Vector, y: float) -> str:
    if vector.right:
        box = svg.rect(_GUTTER, y - 9, 18, 10, "lc-moved lc-right")
        return box + svg.text(_GUTTER + 26, y, "moved, exactly where the layouts ask", "lc-s")
    verb = "moves" if scene.reached else "would move"
    out = [svg.rect(_GUTTER, y - 9, 18, 10, "lc-moved")]
    out.append(svg.text(_GUTTER + 26, y, f"what the instruction {verb}", "lc-s"))
    out.append(svg.rect(_GUTTER + 230, y - 9, 18, 10, "lc-asked"))
    out.append(svg.text(_GUTTER + 256, y, "where the layouts ask for those values", "lc-s"))
    return "".join(out)
